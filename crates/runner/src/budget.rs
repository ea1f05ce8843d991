//! The budget for models. Before a request is sent, its maximum cost is reserved; afterwards the reservation is settled with
//! the actual cost. The first request that might exceed a limit is not sent, and no request is sent after it. A request that
//! fits only if others cost less than their maximum waits for them, so that parallelism does not decide where a budget ends.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcptest_core::trace::{Price, Tokens, cost};
use tokio::sync::Notify;

/// Bytes of a request that count as one token. Common text has more, so the estimate is rarely too low; the actual tokens are
/// counted afterwards.
const BYTES_PER_TOKEN: u64 = 3;

/// What may be spent; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Most input and output tokens.
    pub tokens: Option<u64>,
    /// Most money, in the currency of the prices.
    pub cost: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    pub tokens: u64,
    /// Money, if prices are known.
    pub cost: f64,
}

/// One budget for all runs.
#[derive(Debug, Default)]
pub struct Budget {
    limits: Limits,
    state: Mutex<State>,
    /// Notified when a request is done.
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    reserved: Spent,
    open: usize,
    over: bool,
}

/// A request that may be sent.
#[derive(Debug)]
#[must_use = "what was reserved has to be settled"]
pub struct Reservation<'a> {
    budget: &'a Budget,
    most: Spent,
    price: Option<Price>,
    settled: bool,
}

impl Budget {
    /// A budget with these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Reserves a request of `bytes` and a reply of `max_tokens`; `None` if a limit might be exceeded. Waits while that depends
    /// on other requests.
    pub async fn reserve(&self, bytes: usize, max_tokens: u64, price: Option<Price>) -> Option<Reservation<'_>> {
        let read = (bytes as u64).div_ceil(BYTES_PER_TOKEN);
        let most = Spent {
            tokens: read.saturating_add(max_tokens),
            cost: price.map_or(0.0, |price| cost(read, max_tokens, price)),
        };
        loop {
            let mut freed = pin!(self.freed.notified());
            // Before the check, so that no notification is missed between check and wait.
            freed.as_mut().enable();
            {
                let mut state = self.lock();
                if state.over || self.exceeds(state.spent, most) {
                    state.over = true;
                    // Wake the others: the budget is over for them too.
                    self.freed.notify_waiters();
                    return None;
                }
                let taken = Spent {
                    tokens: state.spent.tokens.saturating_add(state.reserved.tokens),
                    cost: state.spent.cost + state.reserved.cost,
                };
                if !self.exceeds(taken, most) {
                    state.open += 1;
                    state.reserved.tokens = state.reserved.tokens.saturating_add(most.tokens);
                    state.reserved.cost += most.cost;
                    return Some(Reservation { budget: self, most, price, settled: false });
                }
            }
            freed.await;
        }
    }

    fn exceeds(&self, taken: Spent, more: Spent) -> bool {
        self.limits.tokens.is_some_and(|limit| taken.tokens.saturating_add(more.tokens) > limit)
            || self.limits.cost.is_some_and(|limit| taken.cost + more.cost > limit)
    }

    /// What has been spent so far.
    pub fn spent(&self) -> Spent {
        self.lock().spent
    }

    /// Whether a request was not sent because of the budget.
    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation<'_> {
    /// Counts the actual cost. What the provider does not report is counted at its maximum.
    pub fn settle(mut self, tokens: &Tokens) {
        let spent = match (tokens.input, tokens.output, tokens.spent()) {
            (Some(input), Some(output), all) => Spent {
                // Some servers report a total of zero.
                tokens: all.unwrap_or(0).max(input.saturating_add(output)),
                cost: self.price.map_or(0.0, |price| cost(input, output, price)),
            },
            (_, _, Some(all)) => Spent { tokens: all, cost: self.most.cost },
            _ => self.most,
        };
        self.free(spent);
    }

    fn free(&mut self, spent: Spent) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let mut state = self.budget.lock();
        state.open = state.open.saturating_sub(1);
        if state.open == 0 {
            // Sums of floats do not return to exactly zero.
            state.reserved = Spent::default();
        } else {
            state.reserved.tokens = state.reserved.tokens.saturating_sub(self.most.tokens);
            state.reserved.cost = (state.reserved.cost - self.most.cost).max(0.0);
        }
        state.spent.tokens = state.spent.tokens.saturating_add(spent.tokens);
        state.spent.cost += spent.cost;
        drop(state);
        self.budget.freed.notify_waiters();
    }
}

impl Drop for Reservation<'_> {
    /// A request without a reply cost nothing.
    fn drop(&mut self) {
        self.free(Spent::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Tokens {
        Tokens { input: Some(input), output: Some(output), ..Tokens::default() }
    }

    #[tokio::test]
    async fn a_request_is_reserved_at_its_maximum_and_settled_at_its_cost() {
        let budget = Budget::new(Limits { tokens: Some(1000), cost: None });
        // 300 bytes are at most 100 tokens, and 500 may be written.
        let first = budget.reserve(300, 500, None).await.unwrap();
        first.settle(&tokens(90, 10));
        assert_eq!(budget.spent(), Spent { tokens: 100, cost: 0.0 });
        assert!(budget.reserve(300, 801, None).await.is_none());
        assert!(budget.is_over());
        assert!(budget.reserve(3, 1, None).await.is_none(), "once it is over it stays so");
    }

    #[tokio::test]
    async fn a_request_waits_for_others_that_may_cost_less() {
        let budget = Budget::new(Limits { tokens: Some(1000), cost: None });
        let first = budget.reserve(300, 500, None).await.unwrap();
        let mut second = pin!(budget.reserve(300, 500, None));
        let wait = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(wait, second.as_mut()).await.is_err(), "600 are reserved");
        assert!(!budget.is_over());
        first.settle(&tokens(300, 100));
        second.await.unwrap().settle(&tokens(1, 2));
        assert_eq!(budget.spent().tokens, 403);
    }

    #[tokio::test]
    async fn a_waiting_request_is_not_sent_if_others_cost_too_much() {
        let budget = Budget::new(Limits { tokens: Some(1000), cost: None });
        let first = budget.reserve(300, 500, None).await.unwrap();
        let mut second = pin!(budget.reserve(300, 500, None));
        let wait = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(wait, second.as_mut()).await.is_err());
        first.settle(&tokens(300, 101));
        assert!(second.await.is_none());
        assert!(budget.is_over());
    }

    #[tokio::test]
    async fn a_token_total_below_its_parts_is_rejected() {
        let budget = Budget::new(Limits { tokens: Some(2000), cost: None });
        let used = Tokens { total: Some(0), ..tokens(100, 50) };
        budget.reserve(300, 900, None).await.unwrap().settle(&used);
        let used = Tokens { total: Some(170), ..tokens(100, 50) };
        budget.reserve(300, 900, None).await.unwrap().settle(&used);
        assert_eq!(budget.spent().tokens, 320);
    }

    #[tokio::test]
    async fn settling_frees_the_rest_of_a_reservation() {
        let budget = Budget::new(Limits { tokens: Some(1000), cost: None });
        for _ in 0..9 {
            budget.reserve(300, 100, None).await.unwrap().settle(&tokens(60, 40));
        }
        assert_eq!(budget.spent().tokens, 900);
        assert!(!budget.is_over());
        assert!(budget.reserve(300, 100, None).await.is_none());
    }

    #[tokio::test]
    async fn cost_is_counted_by_price_and_at_its_maximum_without_usage() {
        let budget = Budget::new(Limits { tokens: None, cost: Some(1.0) });
        let price = Some((3.0, 15.0));
        budget.reserve(300, 1000, price).await.unwrap().settle(&tokens(100_000, 10_000));
        assert!((budget.spent().cost - 0.45).abs() < 1e-12);
        budget.reserve(3_000, 20_000, price).await.unwrap().settle(&Tokens::default());
        assert!((budget.spent().cost - 0.753).abs() < 1e-12);
        assert!(budget.reserve(3_000, 20_000, price).await.is_none());
    }

    #[tokio::test]
    async fn a_failed_request_costs_nothing() {
        let budget = Budget::new(Limits { tokens: Some(1000), cost: None });
        drop(budget.reserve(300, 900, None).await.unwrap());
        assert_eq!(budget.spent().tokens, 0);
        assert!(budget.reserve(300, 900, None).await.is_some());
    }

    #[tokio::test]
    async fn without_limits_every_request_is_sent_and_counted() {
        let budget = Budget::default();
        budget.reserve(usize::MAX, u64::MAX, Some((1.0, 1.0))).await.unwrap().settle(&tokens(1, 2));
        assert_eq!(budget.spent().tokens, 3);
        assert!(!budget.is_over());
    }
}
