//! Patches and diffs: which files they add, delete, move and change.

use super::actions::Actions;

/// Whether a text looks like a patch.
pub(super) fn is_patch(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with("*** Begin Patch")
        || start.starts_with("diff --git ")
        || (start.starts_with("--- ") && start.contains("\n+++ "))
        || start.starts_with("Index: ")
        || start.starts_with("@@ ")
}

/// What a patch does. It writes content, so it can have made any edit true.
pub(super) fn effects(text: &str) -> Actions {
    let (mut creates, mut deletes, mut moves) = (false, false, false);
    for line in text.lines() {
        creates |= line.starts_with("*** Add File:") || line.starts_with("new file mode") || line == "--- /dev/null";
        deletes |=
            line.starts_with("*** Delete File:") || line.starts_with("deleted file mode") || line == "+++ /dev/null";
        moves |= line.starts_with("*** Move to:") || line.starts_with("rename to ");
    }
    let when = |holds: bool, words| if holds { Actions::of(words) } else { Actions::NONE };
    Actions::of("patch edit replace fix insert write")
        .or(when(creates, "new"))
        .or(when(deletes, "delete"))
        .or(when(moves, "move rename"))
}

#[cfg(test)]
mod tests {
    use super::super::actions::needed;
    use super::*;

    #[test]
    fn headers_give_the_action_for_each_file() {
        let update = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch";
        let delete = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        let moved = "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n";
        for (text, verb, done) in [
            (update, "fix", true),
            (update, "commit", false),
            (update, "rename", true),
            (delete, "delete", true),
            (moved, "move", true),
            (update, "send", false),
        ] {
            assert!(is_patch(text), "{text}");
            assert_eq!(effects(text).meets(needed(verb, &[])), done, "{text}: {verb}");
        }
        assert!(!is_patch("I changed a file"));
        assert!(is_patch("--- a/x\n+++ b/x\n@@ -1 +1 @@\n"));
    }
}
