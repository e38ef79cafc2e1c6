//! Threads that compute, no more than were asked for. While one waits for an answer, another computes:
//! there are more threads at work than may compute at the same time.

use crate::link::{Delivery, Link, Outgoing, Request, Trouble, Wire};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// So many may compute at the same time.
#[derive(Debug)]
pub struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Permits {
    /// For this many.
    pub fn new(count: usize) -> Arc<Permits> {
        Arc::new(Permits { free: Mutex::new(count.max(1)), freed: Condvar::new() })
    }

    fn take(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
    }

    fn give(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.freed.notify_one();
    }
}

/// A link whose user computes with a permit, and gives it up while it waits.
#[derive(Debug)]
pub struct Paced<L> {
    link: L,
    permits: Arc<Permits>,
}

impl<L> Paced<L> {
    /// Waits for a permit.
    pub fn new(link: L, permits: &Arc<Permits>) -> Paced<L> {
        permits.take();
        Paced { link, permits: Arc::clone(permits) }
    }

    fn waiting<T>(&mut self, wait: impl FnOnce(&mut L) -> T) -> T {
        self.permits.give();
        let result = wait(&mut self.link);
        self.permits.take();
        result
    }
}

impl<L> Drop for Paced<L> {
    fn drop(&mut self) {
        self.permits.give();
    }
}

impl<L: Wire> Wire for Paced<L> {
    fn ask(&mut self, requests: Vec<Request>) -> Result<Vec<Vec<u8>>, Trouble> {
        self.waiting(|link| link.ask(requests))
    }

    fn publish(&mut self, batches: Vec<Outgoing>) -> Result<(), Trouble> {
        self.waiting(|link| link.publish(batches))
    }
}

impl<L: Link> Link for Paced<L> {
    fn pull(&mut self, most: usize) -> Result<Vec<Delivery>, Trouble> {
        self.waiting(|link| link.pull(most))
    }

    fn ack(&mut self, token: u64) {
        self.link.ack(token);
    }

    fn give_back(&mut self, token: u64) {
        self.link.give_back(token);
    }

    fn reject(&mut self, token: u64) {
        self.link.reject(token);
    }
}
