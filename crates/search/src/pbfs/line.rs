//! Pieces of work that are done ahead and come back in order: one coordinator, some helpers.
//!
//! The coordinator appends pieces to the line. Whoever has nothing to do takes the first one that
//! nobody has taken yet and puts it back when it is done. The coordinator takes them out at the front,
//! in the order in which it appended them. If the one at the front is still in other hands it does a
//! later one meanwhile; it waits only if there is none.
//!
//! A helper puts back what it took, whatever happens. Closing the line ends the helpers. Whoever waits
//! looks out for a moment before it sleeps (see [`super::moment`]).

use super::moment::Moment;
use super::sync::{AtomicU64, Condvar, Mutex, MutexGuard as Guard, Ordering};
use std::collections::VecDeque;
use std::sync::PoisonError;

/// Pieces of work in order.
#[derive(Debug)]
pub(crate) struct Line<T> {
    state: Mutex<State<T>>,
    moment: Moment,
    /// How often something was appended (or the line closed), and put back.
    pushes: AtomicU64,
    returns: AtomicU64,
    /// There is something to take, or the line was closed.
    appended: Condvar,
    /// Something was put back that the coordinator waits for.
    returned: Condvar,
}

#[derive(Debug)]
struct State<T> {
    places: VecDeque<Place<T>>,
    /// Number of the first place.
    first: u64,
    /// Helpers that wait.
    idle: usize,
    /// Whether the coordinator waits.
    awaited: bool,
    closed: bool,
}

#[derive(Debug)]
enum Place<T> {
    Waiting(T),
    /// Somebody has taken it.
    Away,
    Done(T),
}

/// What the coordinator is to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    /// Take in the first piece, which is done and not in the line any more.
    Done(T),
    /// Do the first piece, which is not in the line any more.
    First(T),
    /// Do a later piece and put it back under this number.
    Later(u64, T),
    /// The line is empty.
    Nothing,
}

impl<T> State<T> {
    /// Takes the first piece that nobody has taken.
    fn take(&mut self) -> Option<(u64, T)> {
        let at = self.places.iter().position(|place| matches!(place, Place::Waiting(_)))?;
        match std::mem::replace(&mut self.places[at], Place::Away) {
            Place::Waiting(piece) => Some((self.first + at as u64, piece)),
            Place::Away | Place::Done(_) => None,
        }
    }

    fn pop(&mut self) -> Option<Place<T>> {
        let place = self.places.pop_front()?;
        self.first += 1;
        Some(place)
    }
}

impl<T> Line<T> {
    /// An empty line.
    pub(crate) fn new(moment: Moment) -> Line<T> {
        let state =
            State { places: VecDeque::new(), first: 0, idle: 0, awaited: false, closed: false };
        Line {
            state: Mutex::new(state),
            moment,
            pushes: AtomicU64::new(0),
            returns: AtomicU64::new(0),
            appended: Condvar::new(),
            returned: Condvar::new(),
        }
    }

    /// Coordinator: appends a piece.
    pub(crate) fn push(&self, piece: T) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.places.push_back(Place::Waiting(piece));
        self.pushes.fetch_add(1, Ordering::Relaxed);
        let idle = state.idle > 0;
        drop(state);
        if idle {
            self.appended.notify_one();
        }
    }

    /// Coordinator: what to do next.
    pub(crate) fn next(&self) -> Next<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match state.places.front() {
                None => return Next::Nothing,
                Some(Place::Away) => match state.take() {
                    Some((number, piece)) => return Next::Later(number, piece),
                    None => state = self.wait(state),
                },
                Some(_) => match state.pop() {
                    Some(Place::Done(piece)) => return Next::Done(piece),
                    Some(Place::Waiting(piece)) => return Next::First(piece),
                    Some(Place::Away) | None => return Next::Nothing,
                },
            }
        }
    }

    /// Coordinator: takes everything out, done or not, in order.
    pub(crate) fn recall(&self) -> Vec<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pieces = Vec::new();
        while let Some(front) = state.places.front() {
            if matches!(front, Place::Away) {
                state = self.wait(state);
                continue;
            }
            if let Some(Place::Done(piece) | Place::Waiting(piece)) = state.pop() {
                pieces.push(piece);
            }
        }
        pieces
    }

    /// Coordinator: waits until something is put back, at the front if that takes long.
    fn wait<'s>(&'s self, state: Guard<'s, State<T>>) -> Guard<'s, State<T>> {
        let before = self.returns.load(Ordering::Relaxed);
        drop(state);
        let _stay = self.moment.look_out(|| self.returns.load(Ordering::Relaxed) > before);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(state.places.front(), Some(Place::Away)) {
            state.awaited = true;
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.awaited = false;
        }
        state
    }

    /// Coordinator: there will be no more pieces.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.pushes.fetch_add(1, Ordering::Relaxed);
        self.appended.notify_all();
    }

    /// Helper: waits for a piece to do; `None` when the line is closed.
    pub(crate) fn take(&self) -> Option<(u64, T)> {
        let (mut looked_out, mut _stay) = (false, None);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.closed {
                return None;
            }
            if let Some(taken) = state.take() {
                return Some(taken);
            }
            if !std::mem::replace(&mut looked_out, true) {
                let before = self.pushes.load(Ordering::Relaxed);
                drop(state);
                _stay = self.moment.look_out(|| self.pushes.load(Ordering::Relaxed) > before);
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.idle += 1;
            state = self.appended.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Puts a piece back, which is done.
    pub(crate) fn finish(&self, number: u64, piece: T) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (number - state.first) as usize;
        state.places[at] = Place::Done(piece);
        self.returns.fetch_add(1, Ordering::Relaxed);
        let awaited = at == 0 && state.awaited;
        drop(state);
        if awaited {
            self.returned.notify_one();
        }
    }
}
