//! About `recovery`.

use super::GateGuide;

pub(super) static GUIDE: GateGuide = GateGuide {
    measures: "It looks at what a run made of the faults that were injected into its tool calls: whether a fault was met at \
               all, whether the agent acted again after it, and whether the run ended by itself with an answer. Times are \
               those of a virtual clock that only faults move: nothing waits, when recording or when replaying. In a suite \
               the faults stand in `faults:` and are named by `inject:`; in recordings from elsewhere the results must \
               carry the marks of faults.",
    example: "\
# A call may take three seconds. The run must get over the fault within ten seconds, with a later
# call that works.
recovery:
  max_detection_ms: 3000
  max_recovery_ms: 10000
  require_clean_timeout: true
  require_call: true
",
    reading: &[
        "`2 hits, 0 delays, detected 3000 ms, recovered 6000 ms`: two calls were denied an answer, the agent could act again \
         after the first timeout, and by the end of the run faults had cost six seconds of virtual time.",
        "`answered without the tool after 3000 ms`: the run ended with an answer, though no call succeeded after the fault. The \
         agent may have admitted it, or made something up. Where the task cannot be done without the tool, set \
         `require_call: true`, and such a run fails.",
        "`recovered never`: the run did not end by itself with an answer. It ran out of turns, or stopped with nothing to say; \
         its last turns show what it was doing. Often it repeats the dead call until the limit.",
        "`no call met a fault, so nothing was tested`: the agent never used the tool that the fault sits on. Check the target of \
         the fault and whether the task needs the tool, or set `require_hit: false` if it may do without.",
        "`no call succeeded after the first fault`, with `require_call`: the agent gave up and said something. That may be fine \
         for a tool that stays dead, and not for one that comes back.",
        "`whether tool_calls[1] was made after the fault is unknown: turns were not recorded`: calls of one turn are made together, \
         so a good answer next to the fault is no recovery. Without `turn` nobody can tell, and `require_call` is unassessable.",
        "`the fault was noticed after 9000 ms, budget 3000`: the run was recorded with a larger budget. Record it again.",
        "A detection `never` beside delays and no hits is right: what only comes late needs no noticing.",
        "What the answer says is not read here. Add `narrative`, or an assertion on `final_response`, for an agent that should \
         admit what it could not do.",
    ],
    formula: "\
clock                 0 at the first faulted call; each faulted call adds the ms its fault cost
hit                   a call that a fault denied an answer: a timeout costs max_detection_ms as
                      recorded, an error 0
delay                 a call that a fault answered late, within the budget: it costs the delay;
                      require_hit is satisfied by hits and by delays
fault_hits, fault_delays = how many there are of either
time_to_detection_ms  = the clock after the first hit, if the agent acted again after it
time_to_recovery_ms   = the clock at the end, if the run ended by itself with an answer that is
                        not empty
user_visible_hang_ms  = the lesser of the two; max_detection_ms if there is neither
recovered             = 1 if there is a time_to_recovery_ms
clean_timeout         = 1 if there is a time_to_detection_ms, of max_detection_ms or less
recovered_by_call     = 1 if a call of a later turn than the first hit succeeded
passed                = 1 if recovered and within every limit given

Example: a lookup times out twice, 3000 ms each, works the third time, and the run answers.
fault_hits 2, time_to_detection_ms 3000, time_to_recovery_ms 6000, user_visible_hang_ms 3000,
recovered_by_call 1",
    limits: &[
        "Virtual time is the time that faults cost, not the time that a user waits: models, servers and retries with a pause \
         add nothing to it.",
        "To recover is to end with an answer. A run that ends with a wrong answer has recovered; `trajectory` and `narrative` \
         judge that.",
        "A fault is injected, not real: servers that die in ways nobody wrote down are not tried.",
        "Without the stop reason, the results or the final message in the recording the gate is unassessable.",
    ],
    source: "The gate is our own. Time to detection and time to recovery are the terms of incident response; faults in virtual \
             time are the usual means of deterministic simulation.",
};
