//! How much models may cost. Every question is reserved at the most it may come to before it is asked, and settled by what
//! it came to; the first that might exceed a limit is not asked, and nothing is after it. One that would fit if others came
//! to less than their most waits for them, so that how many run at once does not decide where a budget ends.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcptest_core::trace::Tokens;
use tokio::sync::Notify;

/// Bytes of a request that are counted as one token. Fewer than in common text, so that a request has rarely more tokens than
/// that; what it has is counted afterwards.
const BYTES_PER_TOKEN: u64 = 3;

/// What may be spent; nothing means without limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Most tokens, read and written.
    pub tokens: Option<u64>,
    /// Most money, in the currency of the prices.
    pub cost: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Money, where prices are known.
    pub cost: f64,
}

/// Price of a million tokens read and of a million written.
pub type Price = (f64, f64);

/// One budget for all runs.
#[derive(Debug, Default)]
pub struct Budget {
    limits: Limits,
    state: Mutex<State>,
    /// Told of every question that is over.
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    reserved: Spent,
    /// Questions that are being asked.
    open: usize,
    over: bool,
}

/// A question that may be asked.
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

    /// Room for a question of so many bytes and an answer of so many tokens; nothing when a limit may be exceeded. Waits
    /// while that depends on what others come to.
    pub async fn reserve(&self, bytes: usize, max_tokens: u64, price: Option<Price>) -> Option<Reservation<'_>> {
        let read = (bytes as u64).div_ceil(BYTES_PER_TOKEN);
        let most = Spent {
            tokens: read.saturating_add(max_tokens),
            cost: price.map_or(0.0, |price| cost(read, max_tokens, price)),
        };
        loop {
            let mut freed = pin!(self.freed.notified());
            // Before looking, so that nothing is missed between looking and waiting.
            freed.as_mut().enable();
            {
                let mut state = self.lock();
                if state.over || self.exceeds(state.spent, most) {
                    state.over = true;
                    // Whoever waits need not any more.
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

    /// Whether a question was not asked for want of budget.
    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation<'_> {
    /// Counts what the question came to. What a provider does not tell is counted at the most it may have been.
    pub fn settle(mut self, tokens: &Tokens) {
        let spent = match (tokens.input, tokens.output, tokens.spent()) {
            (Some(input), Some(output), all) => Spent {
                // Some servers leave the sum at zero.
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
            // Sums of fractions do not come out at zero by themselves.
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
    /// A question that was not answered cost nothing.
    fn drop(&mut self) {
        self.free(Spent::default());
    }
}

/// What so many tokens cost.
pub(crate) fn cost(read: u64, written: u64, (input, output): Price) -> f64 {
    (read as f64 * input + written as f64 * output) / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Tokens {
        Tokens { input: Some(input), output: Some(output), ..Tokens::default() }
    }

    #[tokio::test]
    async fn a_question_is_reserved_at_its_most_and_settled_by_what_it_came_to() {
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
    async fn a_question_waits_for_others_that_may_come_to_less() {
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
    async fn a_question_that_waits_is_not_asked_when_the_others_came_to_too_much() {
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
    async fn a_sum_that_is_less_than_its_parts_is_not_believed() {
        let budget = Budget::new(Limits { tokens: Some(2000), cost: None });
        let told = Tokens { total: Some(0), ..tokens(100, 50) };
        budget.reserve(300, 900, None).await.unwrap().settle(&told);
        let told = Tokens { total: Some(170), ..tokens(100, 50) };
        budget.reserve(300, 900, None).await.unwrap().settle(&told);
        assert_eq!(budget.spent().tokens, 320);
    }

    #[tokio::test]
    async fn what_is_settled_makes_room_again() {
        let budget = Budget::new(Limits { tokens: Some(1000), cost: None });
        for _ in 0..9 {
            budget.reserve(300, 100, None).await.unwrap().settle(&tokens(60, 40));
        }
        assert_eq!(budget.spent().tokens, 900);
        assert!(!budget.is_over());
        assert!(budget.reserve(300, 100, None).await.is_none());
    }

    #[tokio::test]
    async fn money_is_counted_by_price_and_without_usage_at_the_most() {
        let budget = Budget::new(Limits { tokens: None, cost: Some(1.0) });
        let price = Some((3.0, 15.0));
        budget.reserve(300, 1000, price).await.unwrap().settle(&tokens(100_000, 10_000));
        assert!((budget.spent().cost - 0.45).abs() < 1e-12);
        budget.reserve(3_000, 20_000, price).await.unwrap().settle(&Tokens::default());
        assert!((budget.spent().cost - 0.753).abs() < 1e-12);
        assert!(budget.reserve(3_000, 20_000, price).await.is_none());
    }

    #[tokio::test]
    async fn a_question_that_failed_costs_nothing() {
        let budget = Budget::new(Limits { tokens: Some(1000), cost: None });
        drop(budget.reserve(300, 900, None).await.unwrap());
        assert_eq!(budget.spent().tokens, 0);
        assert!(budget.reserve(300, 900, None).await.is_some());
    }

    #[tokio::test]
    async fn without_limits_everything_may_be_asked_and_is_counted() {
        let budget = Budget::default();
        budget.reserve(usize::MAX, u64::MAX, Some((1.0, 1.0))).await.unwrap().settle(&tokens(1, 2));
        assert_eq!(budget.spent().tokens, 3);
        assert!(!budget.is_over());
    }
}
