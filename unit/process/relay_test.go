package process

import "testing"

func TestAResultIsPrintedAsItIsUnlessItIsThePayloadOfALog(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"processname:cat groupname:cats pid:7 channel:stdout\none\ntwo": "cat stdout | one\ncat stdout | two",
		"processname:cat groupname:cats pid:7 channel:stderr\none\n":    "cat stderr | one\n",
		"processname:cat groupname:cats pid:7 channel:stderr\n":         "",
		"processname:cat groupname:cats from_state:RUNNING pid:7":       "processname:cat groupname:cats from_state:RUNNING pid:7",
		"cat said: one\n":           "cat said: one\n",
		"processname: channel:\na":  "processname: channel:\na",
		"no newline, channel:other": "no newline, channel:other",
		"":                          "",
	} {
		if got := parseListenerResult(body).prefixed(); got != want {
			t.Errorf("%q is printed as %q", body, got)
		}
	}
}
