//! A worker's loop: pull, work, acknowledge, until the job is over or somebody wants it to stop.

use crate::expander::Expander;
use crate::link::{Delivery, Link, Trouble};
use crate::messages::read_work;
use ergodic_system::System;

/// Batches at hand, at most, which together are about a full one.
const MOST_BATCHES: usize = 64;

/// Works on batches until the job is over. What is at hand when it has to stop is given back. `watch`
/// is called before every pull; messages that are none of this job are rejected.
pub fn work<S: System, L: Link>(
    expander: &mut Expander<S>,
    link: &mut L,
    watch: &mut dyn FnMut(&crate::Done),
) -> Trouble {
    // Where there are many, several are taken at a time, so that a round of questions pays; where there are
    // few, one, so that others have some, too.
    let mut most = 1;
    loop {
        watch(&expander.done);
        let deliveries = match link.pull(most) {
            Ok(deliveries) => deliveries,
            Err(trouble) => return trouble,
        };
        if deliveries.is_empty() {
            most = 1;
            continue;
        }
        let plenty = deliveries.len() == most;
        let (mut tokens, mut batches) = (Vec::new(), Vec::new());
        for Delivery { body, token } in deliveries {
            match read_work(expander.codec(), &body) {
                Some(batch) => {
                    batches.push(batch);
                    tokens.push(token);
                }
                None => link.reject(token),
            }
        }
        let states: usize = batches.iter().map(|batch| batch.len()).sum();
        let average = (states / batches.len().max(1)).max(1);
        most = if plenty { most * 2 } else { most / 2 };
        most = most.clamp(1, (expander.batch_states() / average).clamp(1, MOST_BATCHES));
        match expander.work(batches, link) {
            Ok(()) => tokens.into_iter().for_each(|token| link.ack(token)),
            Err(trouble) => {
                tokens.into_iter().for_each(|token| link.give_back(token));
                return trouble;
            }
        }
    }
}
