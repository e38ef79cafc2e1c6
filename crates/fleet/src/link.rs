//! What the roles need from whatever carries messages between them. Everything that decides about
//! states stands behind these traits and knows no broker, so that tests run it over a broker of their
//! own that loses, repeats and delays.

/// A work batch as the broker delivers it, at least once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message.
    pub body: Vec<u8>,
    /// What the broker knows it by, until it is acknowledged, given back or rejected.
    pub token: u64,
}

/// A work batch to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The level of its states.
    pub level: u32,
    /// Its identity: a broker may drop a message whose identity it has seen lately.
    pub id: u128,
    /// The message.
    pub body: Vec<u8>,
}

/// A request to one keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of the keeper.
    pub keeper: u32,
    /// The message.
    pub body: Vec<u8>,
}

/// Why a link is of no use any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Somebody asked this process to stop.
    Stopped,
    /// The job is over.
    Over,
    /// Something does not work, and waiting does not help; the text names it and the way out.
    Broken(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Stopped => f.write_str("stopped"),
            Trouble::Over => f.write_str("the job is over"),
            Trouble::Broken(text) => f.write_str(text),
        }
    }
}

/// How keepers are asked and batches are published. A request may be answered twice, or answered and
/// the answer lost: whoever asks again must be given the same.
pub trait Wire {
    /// Asks keepers, all at the same time; returns their answers in the order of the requests. Waits
    /// for a keeper that is away, and asks again.
    fn ask(&mut self, requests: Vec<Request>) -> Result<Vec<Vec<u8>>, Trouble>;

    /// Publishes batches; returns when the broker has stored all of them. Waits where there is no room.
    fn publish(&mut self, batches: Vec<Outgoing>) -> Result<(), Trouble>;
}

/// A worker's view.
pub trait Link: Wire {
    /// At most so many batches; waits a while if there are none, and then returns none. Until a batch
    /// is acknowledged or given back, the link keeps telling the broker that it is being worked on.
    fn pull(&mut self, most: usize) -> Result<Vec<Delivery>, Trouble>;

    /// A batch is done: the broker forgets it.
    fn ack(&mut self, token: u64);

    /// A batch is to be delivered to somebody else, now.
    fn give_back(&mut self, token: u64);

    /// A message is none of ours: the broker forgets it.
    fn reject(&mut self, token: u64);
}

/// What the broker counts. All of it is read at one point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Batches that were not delivered, of the level that is open (or of all).
    pub undelivered: u64,
    /// Batches that were delivered and not acknowledged.
    pub unacknowledged: u64,
    /// Batches that are stored, for whatever level.
    pub stored: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Batches that are out again after they were not acknowledged in time.
    pub redelivered: u64,
}

/// The coordinator's view.
pub trait Desk: Wire {
    /// Lets workers have the batches of this level; with `None`, of all levels. A level is opened once,
    /// when the one before has ended.
    fn open(&mut self, level: Option<u32>) -> Result<(), Trouble>;

    /// What waits in what is open.
    fn waiting(&mut self) -> Result<Waiting, Trouble>;

    /// Passes some time.
    fn rest(&mut self, pause: std::time::Duration) {
        std::thread::sleep(pause);
    }
}
