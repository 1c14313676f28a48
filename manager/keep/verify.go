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

// signed returns the newest document in its stored form. The caller holds the lock.
func (st *store) signed() (wire.Document, error) {
	text, err := json.Marshal(st.document)
	d := wire.Document{Revision: st.document.Revision, Content: text}
	d.Content = st.opts.Keys().Sign(wire.GoalDocument, d)
	return d, err
}

// accept processes the document that a replica stores. A foreign document counts as missing, and is replaced. The
// caller holds the lock.
func (st *store) accept(r *goal.Replica, c *copyState, stored wire.Document, err error) error {
	if errors.Is(err, ErrNoRoom) {
		c.known, c.noStorage = true, true
		return nil
	}
	if err != nil {
		return err
	}
	before := *c
	c.known, c.revision, c.stored, c.unsigned, c.rejected = true, wire.Revision{}, stored.Revision, nil, ""
	if stored.Content == nil {
		return nil
	}
	d, key, err := st.verify(stored.Content)
	switch {
	case errors.Is(err, signature.ErrUnsigned) && st.document == nil:
		c.unsigned = &unsigned{d, stored.Content} // see adoptUnsigned
		if c.unsigned.same(before.unsigned) {
			c.rejected = before.rejected // it was reported
		}
		return nil
	case errors.Is(err, errNotOurs):
		if c.rejected = err.Error(); c.rejected != before.rejected {
			st.reportRejection(r, stored.Revision, c.rejected)
		}
		return nil
	case err != nil: // perhaps written by a newer manager
		c.known = false
		return err
	}
	c.revision = d.Revision
	if st.document == nil || d.Revision.Compare(st.document.Revision) > 0 {
		st.opts.Logger.Info("goal", "revision", d.Revision.String(), "by", d.By)
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
	keys := st.opts.Keys()
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
	st.opts.Logger.Warn("a replica stores a goal that this manager ignores", "node", r.Node, "replica", r.Name, "instance", r.Instance,
		"revision", stored.String(), "reason", why)
	st.opts.Report(Notice{Kind: GoalRejected, Node: r.Node, Replica: r.Name, Instance: r.Instance, Revision: stored, Why: why})
}

// rejected returns the replicas whose documents are ignored, sorted by name.
func (st *store) rejected(s goal.Situation) []Rejection {
	st.mu.Lock()
	defer st.mu.Unlock()
	var all []Rejection
	for _, r := range s.Replicas {
		if c := st.copies[r.Instance]; c != nil && c.rejected != "" {
			all = append(all, Rejection{Node: r.Node, Replica: r.Name, Instance: r.Instance, Revision: c.stored, Why: c.rejected})
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
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.document != nil || st.opts.Keys() == nil {
		st.rejectUnsigned(s)
		return
	}
	var best *unsigned
	for _, candidate := range st.copies {
		if u := candidate.unsigned; u != nil && 2*st.countUnsigned(s, u.same) > voters(s) && st.storedOnEach(s, nodes, u) {
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
	st.opts.Logger.Warn("adopting the goal of a release that did not sign documents", "revision", d.Revision.String(), "by", d.By)
	st.document = &d
	next := d
	st.amend(&next)
	st.opts.Report(Notice{Kind: GoalAdopted, Revision: next.Revision, Why: "a release that did not sign documents wrote it, and all containers keep it"})
}

// rejectUnsigned reports documents without a signature that were not adopted. The caller holds the lock.
func (st *store) rejectUnsigned(s goal.Situation) {
	for i := range s.Replicas {
		c := st.copies[s.Replicas[i].Instance]
		if c == nil || c.unsigned == nil || c.rejected != "" || st.adopted != nil && c.unsigned.agrees(st.adopted) {
			continue
		}
		c.rejected = fmt.Sprintf("%v: %v, and not all containers keep it", errNotOurs, signature.ErrUnsigned)
		st.reportRejection(&s.Replicas[i], c.stored, c.rejected)
	}
}

// countUnsigned counts the replicas that store an unsigned document that matches. The caller holds the lock.
func (st *store) countUnsigned(s goal.Situation, matches func(*unsigned) bool) (n int) {
	for _, r := range s.Replicas {
		if c := st.copies[r.Instance]; c != nil && c.unsigned != nil && matches(c.unsigned) {
			n++
		}
	}
	return n
}

// storedOnEach reports whether each node has a replica that stores a document with the same goal. The caller holds the
// lock.
func (st *store) storedOnEach(s goal.Situation, nodes []string, u *unsigned) bool {
	for _, node := range nodes {
		if !slices.ContainsFunc(s.Replicas, func(r goal.Replica) bool {
			c := st.copies[r.Instance]
			return r.Node == node && c != nil && (c.noStorage || u.agrees(c.unsigned))
		}) {
			return false
		}
	}
	return true
}

// signAnew makes a revision signed by the current key if another key signed the last one: the key is being
// rotated.
func (st *store) signAnew() (changed bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.document == nil || st.opts.Keys() == nil || st.key == st.opts.Keys().Current() {
		return false
	}
	next := *st.document
	st.amend(&next)
	st.opts.Logger.Info("the goal is signed with the new key", "revision", next.Revision.String())
	st.opts.Report(Notice{Kind: GoalResigned, Revision: next.Revision, Why: "the secret key was replaced"})
	return true
}
