package events

import (
	"errors"
	"strings"
	"testing"
)

// What each conversation is made of: > is an event sent to the listener, every
// other word is what it says at once, with _ for a newline.
func TestAConversationFollowsTheProtocol(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		said    string
		state   State
		answers string // of each word: . none, + accepted, - rejected
		wrong   string // in the error; empty: there is none
	}{
		"silence":                           {"", Acknowledged, "", ""},
		"ready":                             {"READY_", Ready, ".", ""},
		"ready in pieces":                   {"RE AD Y _", Ready, "....", ""},
		"an event":                          {"READY_ >", Busy, "..", ""},
		"accepted":                          {"READY_ > RESULT#2_OK", Acknowledged, "..+", ""},
		"accepted in pieces":                {"READY_ > RES ULT #2 _ O K", Acknowledged, ".......+", ""},
		"accepted and ready at once":        {"READY_ > RESULT#2_OKREADY_", Ready, "..+", ""},
		"ready in the middle of a piece":    {"READY_ > RESULT#2_OKREA DY_", Ready, "..+.", ""},
		"rejected":                          {"READY_ > RESULT#4_FAIL", Acknowledged, "..-", ""},
		"something else is a rejection":     {"READY_ > RESULT#3_OK!", Acknowledged, "..-", ""},
		"nothing is a rejection":            {"READY_ > RESULT#0_", Acknowledged, "..-", ""},
		"a result with newlines":            {"READY_ > RESULT#3_a_b READY_", Ready, "..-.", ""},
		"a long result":                     {"READY_ > RESULT#300_ " + strings.Repeat("x", 299) + " OKREADY_", Unknown, "....-", `says "KREADY\n"`},
		"blanks around a length":            {"READY_ > RESULT##2#_OK", Acknowledged, "..+", ""},
		"two events":                        {"READY_ > RESULT#2_OKREADY_ > RESULT#4_FAIL", Acknowledged, "..+.-", ""},
		"no event for one that is not":      {">", Acknowledged, ".", "listener that is ACKNOWLEDGED"},
		"no second event":                   {"READY_ > >", Busy, "...", "listener that is BUSY"},
		"a greeting":                        {"hello", Unknown, ".", `it is ACKNOWLEDGED and says "hello"`},
		"a greeting that begins well":       {"RE ALLY", Unknown, "..", `says "REALLY"`},
		"ready with something after it":     {"READY!_", Unknown, ".", "ACKNOWLEDGED"},
		"ready twice":                       {"READY_READY_", Unknown, ".", "it is READY"},
		"a print while it waits":            {"READY_ debug", Unknown, "..", `it is READY and says "debug"`},
		"a print while it works":            {"READY_ > debug_", Unknown, "...", `it is BUSY and says "debug\n"`},
		"a result without a length":         {"READY_ > RESULT#_", Unknown, "...", "BUSY"},
		"a result of a negative length":     {"READY_ > RESULT#-1_", Unknown, "...", "BUSY"},
		"a result of a huge length":         {"READY_ > RESULT#99999999999999999999_", Unknown, "...", "BUSY"},
		"a header without an end":           {"READY_ > " + strings.Repeat("R", 65), Unknown, "...", "BUSY"},
		"an answer, and then more":          {"READY_ > RESULT#2_OKmore", Unknown, "..+", `says "more"`},
		"what comes after nonsense":         {"hello READY_ RESULT#2_OK", Unknown, "...", "hello"},
		"a result that nobody asked for":    {"RESULT#2_OK", Unknown, ".", "ACKNOWLEDGED"},
		"an answer to what it did not read": {"READY_ > RESULT#2_OKREADY_RESULT#2_OK", Unknown, "..+", `it is READY and says "RESULT`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c Conversation
			var answers strings.Builder
			var wrong error
			for _, word := range strings.Fields(tt.said) {
				var answer Answer
				var err error
				if word == ">" {
					c, err = c.Send()
				} else {
					c, answer, err = c.Receive([]byte(strings.NewReplacer("_", "\n", "#", " ").Replace(word)))
				}
				if err != nil {
					wrong = err
				}
				answers.WriteByte(".+-"[answer])
			}
			if c.State() != tt.state || answers.String() != tt.answers {
				t.Errorf("it is %s with answers %q, not %s with %q (%v)", c.State(), &answers, tt.state, tt.answers, wrong)
			}
			if (wrong == nil) != (tt.wrong == "") || wrong != nil && !strings.Contains(wrong.Error(), tt.wrong) {
				t.Errorf("the error is %v, not one with %q", wrong, tt.wrong)
			}
			if wrong != nil && errors.Is(wrong, ErrProtocol) != (tt.state == Unknown) {
				t.Errorf("%v: nonsense leads to UNKNOWN, and nothing else does", wrong)
			}
		})
	}
}

// FuzzConversation: whatever a listener says, in whatever pieces, the state is
// one of the four, an error is UNKNOWN, an answer follows an event, little is
// held, and the pieces make no difference.
func FuzzConversation(f *testing.F) {
	for _, seed := range []string{"READY\n", "READY\nRESULT 2\nOK", "RESULT 4\nFAILREADY\n", "RESULT 0\nREADY\n", "RESULT 99999999999\nxxxx", "x"} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, said []byte, piece uint8) {
		var busy Conversation
		busy.state = Busy
		for _, begun := range []Conversation{{}, busy} {
			whole, wholeAnswer, wholeErr := begun.Receive(said)
			pieces, pieceAnswer := begun, NoAnswer
			var pieceErr error
			for rest := said; len(rest) > 0; {
				n := min(int(piece)+1, len(rest))
				next, answer, err := pieces.Receive(rest[:n])
				if answer != NoAnswer && (pieceAnswer != NoAnswer || begun.state != Busy) {
					t.Fatalf("%q is an answer to nothing", rest[:n])
				}
				if answer != NoAnswer {
					pieceAnswer = answer
				}
				if err != nil {
					pieceErr = err
				}
				pieces, rest = next, rest[n:]
				if held := len(pieces.pending) + len(pieces.result); held > maxHeader+keptResult {
					t.Fatalf("it holds %d bytes", held)
				}
			}
			if (wholeErr != nil) != (whole.State() == Unknown) || wholeErr != nil && !errors.Is(wholeErr, ErrProtocol) {
				t.Fatalf("it is %s with the error %v", whole.State(), wholeErr)
			}
			if whole != pieces || wholeAnswer != pieceAnswer || (wholeErr == nil) != (pieceErr == nil) {
				t.Fatalf("at once %+v %v %v, in pieces %+v %v %v", whole, wholeAnswer, wholeErr, pieces, pieceAnswer, pieceErr)
			}
		}
	})
}
