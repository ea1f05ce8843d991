//! Documentation of `recovery`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "Checks how a run handled faults in its tool calls: whether a call hit one, whether the agent acted again, \
               and whether the run ended on its own with an answer. In a suite, declare faults under `faults:` and name \
               them in `inject:`. Times come from a virtual clock that only faults advance, so nothing waits. In a gates \
               file, real timeouts and protocol errors count too (`faults: any`).",
    example: "\
# A call may take three seconds. The run must recover within ten, with a later call that succeeds.
recovery:
  max_detection_ms: 3000
  max_recovery_ms: 10000
  require_clean_timeout: true
  require_call: true
",
    reading: &[
        "`2 fault hits, 0 delays, detected after 3000 ms, recovered after 6000 ms`: two calls got no answer, the agent acted again \
         after the first timeout, and faults had cost six seconds of virtual time by the end of the run.",
        "`answered without the tool after 3000 ms`: the run ended with an answer, although no call succeeded after \
         the fault. The agent may have admitted the failure or made something up. If the task cannot be done \
         without the tool, set `require_call: true`, and such a run fails.",
        "`never recovered`: the run did not complete with an answer. It ran out of turns, or stopped without \
         a message. Look at its last turns. Often it repeats the failing call until the limit.",
        "`no call hit a fault, so nothing was tested`: the agent never used the faulty tool. Check the target of \
         the fault and whether the task needs the tool, or set `require_hit: false` if it does not.",
        "`no call succeeded after the first fault`, with `require_call`: the agent gave up and said something. \
         That may be fine for a tool that stays down, but not for one that comes back.",
        "`whether tool_calls[1] was made after the fault is unknown: turns were not recorded`: calls of one turn \
         are made together, so a good result next to the fault is not a recovery. Without `turn` that is unknown, \
         and `require_call` is unassessable.",
        "`the fault was detected after 9000 ms, at most 3000 ms allowed`: the run was recorded with a larger budget. Re-record \
         it.",
        "`recovered after an unknown time`: the duration of a real failure was not recorded. Limits on time are then \
         unassessable, unless what is known already exceeds them.",
        "`whether tool_calls[0] failed was not recorded`, with `faults: any`: the format does not say which calls \
         failed, so it is unknown whether there was a fault. Set `faults: injected` to count injected faults only.",
        "`whether tool_calls[0] hit a fault is unknown: how it failed was not recorded`, with `faults: any`: the call \
         failed, and its result has no `error` with a `kind`. A tool that reports an error has answered, a lost connection \
         has not. Record the kind, or set `faults: injected`.",
        "A detection of `never` with delays and no hits is correct: a late answer does not have to be detected.",
        "The gate does not read what the answer says. If the agent should admit what it could not do, add \
         `narrative` or an assertion on `final_response`.",
    ],
    formula: "\
clock                 0 at the first faulted call; each faulted call adds the ms its fault cost
hit                   a call that got no answer because of a fault: an injected timeout costs
                      max_detection_ms as recorded, an injected error 0; with faults: any also a
                      call that ended in a timeout or a transport, JSON-RPC or HTTP error, which
                      costs its recorded duration. A tool that reports an error has answered.
delay                 a call that a fault answered late, within the budget: it costs the delay;
                      require_hit is satisfied by hits and by delays
fault_hits, fault_delays = the number of each
time_to_detection_ms  = the clock after the first hit, if the agent acted again after it
time_to_recovery_ms   = the clock at the end, if the run ended on its own with a non-empty answer
user_visible_hang_ms  = the smaller of the two; max_detection_ms if there is neither
recovered             = 1 if there is a time_to_recovery_ms
clean_timeout         = 1 if there is a time_to_detection_ms of max_detection_ms or less
recovered_by_call     = 1 if a call in a later turn than the first hit succeeded
passed                = 1 if recovered and within every given limit

Example: a lookup times out twice, 3000 ms each, succeeds the third time, and the run answers.
fault_hits 2, time_to_detection_ms 3000, time_to_recovery_ms 6000, user_visible_hang_ms 3000,
recovered_by_call 1",
    limits: &[
        "Virtual time is the time that faults cost, not the time that a user waits: models, servers and retry \
         delays add nothing to it.",
        "Recovering means ending with an answer. A run that ends with a wrong answer has recovered; use \
         `trajectory` and `narrative` to check the answer.",
        "Injected faults are a choice. Failure modes that no fault describes are not tested.",
        "If the stop reason, the results or the final message were not recorded, the gate is unassessable.",
    ],
    source: "Specific to mcptest. Time to detection and time to recovery are terms from incident response. Faults \
             in virtual time are a standard technique of deterministic simulation testing.",
};
