package keep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/unit/wire"
)

// Rejection is a document stored as the goal on a replica that is not from this application's managers.
type Rejection struct {
	Node     string
	Replica  string
	Instance string
	Revision wire.Revision // its revision on the unit
	Why      string
}

// Notice is an audit log entry about the trust in goals.
type Notice struct {
	Kind     string
	Node     string // of the replica, if it is about one
	Replica  string
	Instance string
	Revision wire.Revision
	Why      string
}

// The kinds of notices.
const (
	GoalRejected = "goal_rejected" // a replica stores a goal that is ignored
	GoalAdopted  = "goal_adopted"  // an unsigned goal of an earlier release was adopted and signed
	GoalResigned = "goal_resigned" // the goal is signed with a new key
)

// maxCounter is the highest counter of a revision. A goal that changes a hundred times
// a second reaches it after three centuries.
const maxCounter = 1 << 40

// unsigned is a document without a signature, as the previous release stored it.
type unsigned struct {
	document *goal.Document
	text     []byte
}

func (u *unsigned) same(other *unsigned) bool {
	return u == other || u != nil && other != nil && bytes.Equal(u.text, other.text)
}

// agrees reports whether both documents have the same explicitly set goal.
func (u *unsigned) agrees(other *unsigned) bool {
	return other != nil && u.document.Asked == other.document.Asked && u.document.SameGoal(other.document)
}

// signed returns the newest document in its stored form.
func (st *store) signed() (wire.Document, error) {
	text, err := json.Marshal(st.document)
	d := wire.Document{Revision: st.document.Revision, Content: text}
	d.Content = st.keys().Sign(wire.GoalDocument, d)
	return d, err
}

// take processes the document that a replica stores. A foreign document counts as missing, and is replaced.
func (st *store) take(r *goal.Replica, h *held, kept wire.Document, err error) error {
	if errors.Is(err, ErrNoRoom) {
		h.known, h.homeless = true, true
		return nil
	}
	if err != nil {
		return err
	}
	before := *h
	h.known, h.revision, h.stored, h.unsigned, h.rejected = true, wire.Revision{}, kept.Revision, nil, ""
	if kept.Content == nil {
		return nil
	}
	d, key, err := st.verify(kept.Content)
	switch {
	case errors.Is(err, signature.ErrUnsigned) && st.document == nil:
		h.unsigned = &unsigned{d, kept.Content} // see adoptUnsigned
		if h.unsigned.same(before.unsigned) {
			h.rejected = before.rejected // it was reported
		}
		return nil
	case errors.Is(err, errNotOurs):
		if h.rejected = err.Error(); h.rejected != before.rejected {
			st.reportRejection(r, kept.Revision, h.rejected)
		}
		return nil
	case err != nil: // perhaps written by a newer manager
		h.known = false
		return err
	}
	h.revision = d.Revision
	if st.document == nil || d.Revision.Compare(st.document.Revision) > 0 {
		st.log.Info("goal", "revision", d.Revision.String(), "by", d.By)
		st.document, st.key = d, key
	}
	return nil
}

// errNotOurs is part of every error about a document that the manager ignores.
var errNotOurs = errors.New("it is ignored")

// verify returns a document and the id of the key that signed it. Errors about foreign documents wrap errNotOurs.
// For a document of an earlier release the error also wraps signature.ErrUnsigned, and the document is returned
// too. Any other error is about a signed document.
func (st *store) verify(text []byte) (*goal.Document, string, error) {
	keys := st.keys()
	s, err := signature.Signed{Content: text}, error(nil)
	if keys != nil {
		s, err = keys.Verify(wire.GoalDocument, text)
	}
	d, parsed := goal.ParseDocument(s.Content)
	switch {
	case parsed != nil && (err != nil || keys == nil):
		if keys == nil {
			return nil, "", parsed
		}
		return nil, "", fmt.Errorf("%w: %w", errNotOurs, parsed)
	case parsed != nil:
		return nil, "", parsed
	case d.Revision.Counter > maxCounter:
		return nil, "", fmt.Errorf("%w: its revision %s is higher than any that can have been reached", errNotOurs, d.Revision)
	case s.Key != "" && s.Revision != d.Revision.String():
		err = signature.ErrUnsigned // an earlier release copied the signature of another revision
	}
	delete(d.Unknown, "signature")
	if err != nil {
		return d, "", fmt.Errorf("%w: %w", errNotOurs, err)
	}
	return d, s.Key, nil
}

func (st *store) reportRejection(r *goal.Replica, stored wire.Revision, why string) {
	st.log.Warn("a replica keeps a goal that is not this manager's", "node", r.Node, "replica", r.Name, "instance", r.Instance,
		"revision", stored.String(), "reason", why)
	st.report(Notice{Kind: GoalRejected, Node: r.Node, Replica: r.Name, Instance: r.Instance, Revision: stored, Why: why})
}

// rejected returns the replicas whose documents are ignored, sorted by name.
func (st *store) rejected(s goal.Situation) []Rejection {
	var all []Rejection
	for _, r := range s.Replicas {
		if h := st.copies[r.Instance]; h != nil && h.rejected != "" {
			all = append(all, Rejection{Node: r.Node, Replica: r.Name, Instance: r.Instance, Revision: h.stored, Why: h.rejected})
		}
	}
	slices.SortFunc(all, func(a, b Rejection) int {
		return slices.Compare([]string{a.Node, a.Replica}, []string{b.Node, b.Replica})
	})
	return all
}

// adoptUnsigned signs, once, the goal of a release that did not sign. The condition is that no signed document is
// known, a majority of the replicas stores the same document, and a replica of each node stores one with the same
// goal. The password of one unit is therefore not enough to forge a goal.
func (st *store) adoptUnsigned(s goal.Situation, nodes []string, acting bool) {
	if st.document != nil || st.keys() == nil {
		st.rejectUnsigned(s)
		return
	}
	var best *unsigned
	for _, candidate := range st.copies {
		if u := candidate.unsigned; u != nil && 2*st.countUnsigned(s, u.same) > voters(s) && st.keptOnEach(s, nodes, u) {
			best = u
		}
	}
	if best == nil {
		if acting {
			st.rejectUnsigned(s)
		}
		return
	}
	d := *best.document
	st.adopted = best
	st.log.Warn("adopting the goal of a release that did not sign documents", "revision", d.Revision.String(), "by", d.By)
	st.document = &d
	next := d
	st.amend(&next)
	st.report(Notice{Kind: GoalAdopted, Revision: next.Revision, Why: "a release that did not sign documents wrote it, and all containers keep it"})
}

// rejectUnsigned reports documents without a signature that were not adopted.
func (st *store) rejectUnsigned(s goal.Situation) {
	for i := range s.Replicas {
		h := st.copies[s.Replicas[i].Instance]
		if h == nil || h.unsigned == nil || h.rejected != "" || st.adopted != nil && h.unsigned.agrees(st.adopted) {
			continue
		}
		h.rejected = fmt.Sprintf("%v: %v, and not all containers keep it", errNotOurs, signature.ErrUnsigned)
		st.reportRejection(&s.Replicas[i], h.stored, h.rejected)
	}
}

func (st *store) countUnsigned(s goal.Situation, like func(*unsigned) bool) (n int) {
	for _, r := range s.Replicas {
		if h := st.copies[r.Instance]; h != nil && h.unsigned != nil && like(h.unsigned) {
			n++
		}
	}
	return n
}

// keptOnEach reports whether each node has a replica that stores a document with the same goal.
func (st *store) keptOnEach(s goal.Situation, nodes []string, u *unsigned) bool {
	for _, node := range nodes {
		if !slices.ContainsFunc(s.Replicas, func(r goal.Replica) bool {
			h := st.copies[r.Instance]
			return r.Node == node && h != nil && (h.homeless || u.agrees(h.unsigned))
		}) {
			return false
		}
	}
	return true
}

// signAnew makes a revision signed by the current key if another key signed the last one: the key is being
// rotated.
func (st *store) signAnew() (changed bool) {
	if st.document == nil || st.keys() == nil || st.key == st.keys().Current() {
		return false
	}
	next := *st.document
	st.amend(&next)
	st.log.Info("the goal is signed with the new key", "revision", next.Revision.String())
	st.report(Notice{Kind: GoalResigned, Revision: next.Revision, Why: "the secret key was replaced"})
	return true
}
