package unitclient

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kolo/xmlrpc"

	"github.com/toskose/toskose/unit/wire"
)

// maxDepth bounds how deep the elements of an answer nest. The decoder recurses
// on them, and a Snapshot needs two dozen.
const maxDepth = 64

// decode reads an answer: its fault as an error, or its value into result.
func decode(data []byte, result any) error {
	if err := checkForm(data); err != nil {
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	answer := xmlrpc.Response(data)
	if err := answer.Err(); err != nil {
		var fault xmlrpc.FaultError
		if !errors.As(err, &fault) {
			return fmt.Errorf("%w: %w", ErrBadAnswer, err)
		}
		return faultOf(fault)
	}
	if err := answer.Unmarshal(result); err != nil {
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return nil
}

// checkForm refuses what the decoder would trip over: it takes any document
// with a <value> somewhere for an answer, stops reading where that ends, and
// follows nesting without a bound.
func checkForm(data []byte) error {
	tokens := xml.NewDecoder(bytes.NewReader(data))
	depth, root := 0, ""
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			if root != "methodResponse" {
				return errors.New("it is no methodResponse")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("it nests deeper than %d elements", maxDepth)
			}
			if root == "" {
				root = t.Name.Local
			}
		case xml.EndElement:
			depth--
		}
	}
}

// faultOf undoes wire.Fault's Error: the text is `NAME` or `NAME: detail`.
func faultOf(f xmlrpc.FaultError) error {
	code := wire.FaultCode(f.Code)
	detail := f.String
	if name := code.String(); detail == name {
		detail = ""
	} else if len(detail) > len(name)+2 && detail[:len(name)+2] == name+": " {
		detail = detail[len(name)+2:]
	}
	return wire.NewFault(code, detail)
}

// The structs of unit/wire as they travel. The decoder knows neither json tags
// nor unsigned numbers nor times in strings, so each is spelled out here.
type (
	snapshotX struct {
		Instance   string            `xmlrpc:"instance"`
		Seq        int64             `xmlrpc:"seq"`
		Booted     string            `xmlrpc:"booted"`
		Labels     map[string]string `xmlrpc:"labels"`
		Components []componentX      `xmlrpc:"components"`
		Unclaimed  []processX        `xmlrpc:"unclaimed"`
	}
	componentX struct {
		Name      string     `xmlrpc:"name"`
		Replica   int64      `xmlrpc:"replica"`
		State     string     `xmlrpc:"state"`
		Since     string     `xmlrpc:"since"`
		Why       string     `xmlrpc:"why"`
		Allowed   []string   `xmlrpc:"allowed"`
		Executing string     `xmlrpc:"executing"`
		Seq       int64      `xmlrpc:"seq"`
		Processes []processX `xmlrpc:"processes"`
	}
	processX struct {
		PID       int64   `xmlrpc:"pid"`
		Parent    int64   `xmlrpc:"parent"`
		Operation string  `xmlrpc:"operation"`
		Command   string  `xmlrpc:"command"`
		CPU       float64 `xmlrpc:"cpu_seconds"`
		Memory    int64   `xmlrpc:"memory_bytes"`
		Zombie    bool    `xmlrpc:"zombie"`
	}
	executionX struct {
		ID        string   `xmlrpc:"id"`
		Instance  string   `xmlrpc:"instance"`
		Component string   `xmlrpc:"component"`
		Interface string   `xmlrpc:"interface"`
		Operation string   `xmlrpc:"operation"`
		By        string   `xmlrpc:"by"`
		Inputs    []string `xmlrpc:"inputs"`
		Outcome   string   `xmlrpc:"outcome"`
		Reason    string   `xmlrpc:"reason"`
		From      string   `xmlrpc:"from"`
		To        string   `xmlrpc:"to"`
		Started   string   `xmlrpc:"started"`
		Ended     string   `xmlrpc:"ended"`
		PID       int64    `xmlrpc:"pid"`
		ExitCode  *int64   `xmlrpc:"exit_code"`
		Signal    string   `xmlrpc:"signal"`
		Stdout    string   `xmlrpc:"stdout"`
		Stderr    string   `xmlrpc:"stderr"`
		Seq       int64    `xmlrpc:"seq"`
	}
	processInfoX struct {
		Name          string `xmlrpc:"name"`
		Group         string `xmlrpc:"group"`
		Start         int64  `xmlrpc:"start"`
		Stop          int64  `xmlrpc:"stop"`
		Now           int64  `xmlrpc:"now"`
		State         int64  `xmlrpc:"state"`
		StateName     string `xmlrpc:"statename"`
		SpawnErr      string `xmlrpc:"spawnerr"`
		ExitStatus    int64  `xmlrpc:"exitstatus"`
		StdoutLogfile string `xmlrpc:"stdout_logfile"`
		StderrLogfile string `xmlrpc:"stderr_logfile"`
		PID           int64  `xmlrpc:"pid"`
		Description   string `xmlrpc:"description"`
	}
	statusX struct {
		Name        string `xmlrpc:"name"`
		Group       string `xmlrpc:"group"`
		Status      int64  `xmlrpc:"status"`
		Description string `xmlrpc:"description"`
	}
	requestX struct {
		ID        string            `xmlrpc:"id"`
		Component string            `xmlrpc:"component"`
		Operation string            `xmlrpc:"operation"`
		By        string            `xmlrpc:"by,omitempty"`
		Timeout   float64           `xmlrpc:"timeout"`
		Inputs    map[string]string `xmlrpc:"inputs,omitempty"`
		Instance  string            `xmlrpc:"instance,omitempty"`
		After     int64             `xmlrpc:"after,omitempty"`
	}
)

// times parses the times of one struct; the first that is none is its error.
type times struct{ err error }

func (t *times) parse(field, s string) time.Time {
	if s == "" || t.err != nil {
		return time.Time{}
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.err = fmt.Errorf("%w: %s is %q, which is no time", ErrBadAnswer, field, s)
	}
	return parsed
}

func (x snapshotX) wire() (wire.Snapshot, error) {
	if x.Instance == "" {
		return wire.Snapshot{}, fmt.Errorf("%w: a snapshot without an instance", ErrBadAnswer)
	}
	var t times
	s := wire.Snapshot{
		Instance: x.Instance, Seq: uint64(x.Seq), Booted: t.parse("booted", x.Booted), Labels: x.Labels,
		Components: make([]wire.Component, 0, len(x.Components)), Unclaimed: processes(x.Unclaimed),
	}
	for _, c := range x.Components {
		s.Components = append(s.Components, wire.Component{
			Name: c.Name, Replica: int(c.Replica), State: c.State, Since: t.parse("since", c.Since), Why: c.Why,
			Allowed: c.Allowed, Executing: c.Executing, Seq: uint64(c.Seq), Processes: processes(c.Processes),
		})
	}
	return s, t.err
}

func processes(xs []processX) []wire.Process {
	ps := make([]wire.Process, 0, len(xs))
	for _, p := range xs {
		ps = append(ps, wire.Process{
			PID: int(p.PID), Parent: int(p.Parent), Operation: p.Operation, Command: p.Command,
			CPU: p.CPU, Memory: p.Memory, Zombie: p.Zombie,
		})
	}
	return ps
}

func (x executionX) wire() (wire.Execution, error) {
	var t times
	e := wire.Execution{
		ID: x.ID, Instance: x.Instance, Component: x.Component, Interface: x.Interface, Operation: x.Operation,
		By: x.By, Inputs: x.Inputs, Outcome: wire.Outcome(x.Outcome), Reason: x.Reason, From: x.From, To: x.To,
		Started: t.parse("started", x.Started), Ended: t.parse("ended", x.Ended), PID: int(x.PID),
		Signal: x.Signal, Stdout: x.Stdout, Stderr: x.Stderr, Seq: uint64(x.Seq),
	}
	if x.ExitCode != nil {
		code := int(*x.ExitCode)
		e.ExitCode = &code
	}
	if e.ID == "" || !known(e.Outcome) {
		return e, fmt.Errorf("%w: an execution with id %q and outcome %q", ErrBadAnswer, e.ID, e.Outcome)
	}
	return e, t.err
}

func known(o wire.Outcome) bool {
	switch o {
	case wire.OutcomeRunning, wire.OutcomeSucceeded, wire.OutcomeFailed,
		wire.OutcomeCancelled, wire.OutcomeTimeout, wire.OutcomeLost:
		return true
	}
	return false
}

func (x processInfoX) wire() wire.ProcessInfo {
	return wire.ProcessInfo{
		Name: x.Name, Group: x.Group, Start: x.Start, Stop: x.Stop, Now: x.Now,
		State: wire.ProcessState(x.State), StateName: x.StateName, SpawnErr: x.SpawnErr,
		ExitStatus: int(x.ExitStatus), Logfile: x.StdoutLogfile, StdoutLogfile: x.StdoutLogfile,
		StderrLogfile: x.StderrLogfile, PID: int(x.PID), Description: x.Description,
	}
}

func statuses(xs []statusX) []wire.ProcessStatus {
	out := make([]wire.ProcessStatus, 0, len(xs))
	for _, x := range xs {
		out = append(out, wire.ProcessStatus{
			Name: x.Name, Group: x.Group, Status: wire.FaultCode(x.Status), Description: x.Description,
		})
	}
	return out
}
