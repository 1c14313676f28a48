package packager

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/templates"
	"github.com/toskose/toskose/tosca"
)

// unitConf is the data of the template of supervisord.conf.
type unitConf struct {
	App, Node  string
	Output     string // default for all programs
	Unmarked   bool   // in their coredump_filter
	TLS        *unitTLS
	UnitLog    config.LogFile
	Components []unitComponent
}

type unitComponent struct {
	Name     string
	Programs []unitProgram
}

type unitProgram struct {
	Name, Process, Command, Directory string
	Component, Interface              string
	Kind                              protocol.Kind
	Log, Output, User                 string
	LogFile                           config.LogFile
	StopSignal                        string
	StopWait                          int
	Timeout                           string // seconds
	Ready, Live                       []unitKey
}

// unitKey is a key of a program section with its value.
type unitKey struct{ Name, Value string }

// unitConf renders the supervisord.conf of a node's unit.
func (p *planner) unitConf(node string, components []spec.Component) ([]byte, error) {
	mark := p.plan.Config.Nodes[node].CoredumpMark
	conf := unitConf{
		App: p.plan.App, Node: node, Output: config.DefaultOutput, Unmarked: mark != nil && !*mark, TLS: p.unitTLS(node),
		UnitLog: config.UnitLog,
	}
	rotation := p.logFiles(node, components)
	for _, c := range components {
		uc := unitComponent{Name: c.Name}
		for name, o := range c.Operations() {
			if o.Script == "" {
				continue
			}
			program, err := p.program(c, name, o)
			if err != nil {
				return nil, fmt.Errorf("component %q: operation %q: %w", c.Name, name, err)
			}
			program.LogFile = rotation[[2]string{c.Name, name.String()}]
			uc.Programs = append(uc.Programs, program)
		}
		conf.Components = append(conf.Components, uc)
	}
	return templates.Render(templates.SupervisordConf, conf)
}

// containerDocument returns the document that the unit of a node reads along with
// supervisord.conf. secrets maps the container's secret variables to their files.
func (p *planner) containerDocument(node string, components []spec.Component, files []File, secrets map[string]string) ([]byte, error) {
	document := spec.Container{Application: p.app.Name, Node: node, Job: p.unitJob(node), Components: []spec.Hosted{}}
	for _, c := range components {
		digest, err := filesDigest(p.archive, files, c.Name)
		if err != nil {
			return nil, fmt.Errorf("component %q: %w", c.Name, err)
		}
		hosted := spec.Hosted{Name: c.Name, Protocol: c.Protocol, Files: digest}
		for name, o := range c.Operations() {
			if o.Script != "" {
				hosted.Operations = append(hosted.Operations, spec.Program{
					Operation: name, Inputs: p.inputs(c, o), SecretInputs: p.secretInputs(c, name, o), SecretEnvironment: secrets,
				})
			}
		}
		document.Components = append(document.Components, hosted)
	}
	return spec.EncodeContainer(&document)
}

// logFiles returns the rotation settings of the log files of a node's operations.
func (p *planner) logFiles(node string, components []spec.Component) map[[2]string]config.LogFile {
	var operations [][2]string
	for _, c := range components {
		for name, o := range c.Operations() {
			if o.Script != "" {
				operations = append(operations, [2]string{c.Name, name.String()})
			}
		}
	}
	files, _, _ := p.plan.Config.Nodes[node].LogFiles(operations) // there is enough: it was checked when it was read
	rotation := map[[2]string]config.LogFile{}
	for i, f := range files {
		rotation[operations[i]] = f
	}
	return rotation
}

func (p *planner) program(c spec.Component, name protocol.Operation, o spec.Operation) (unitProgram, error) {
	process, cfg := processName(c, name), p.plan.Config.Nodes[c.Node].Components[c.Name]
	program := unitProgram{
		Name: c.Name + "." + process, Process: process, Component: c.Name, Interface: name.Interface,
		Directory: appPath(c.Name, ""), Kind: c.Protocol.KindOf(name), StopWait: ProgramGrace,
		Log:  path.Join(StatePath, "logs", c.Name, process),
		User: cmp.Or(cfg.Operations[name.String()].User, cfg.User),
	}
	if cfg.Output != config.DefaultOutput {
		program.Output = cfg.Output
	}
	limit := time.Duration(o.Timeout) * time.Second
	if own := cfg.Operations[name.String()].Timeout; own != "" {
		limit = config.ParseDuration(own)
	}
	if limit > 0 {
		program.Timeout = seconds(limit)
	}
	if err := program.startAndStop(cfg); err != nil {
		return unitProgram{}, err
	}
	script, err := scriptCommand(p.archive, appPath(c.Name, o.Script), o.Script)
	if err != nil {
		return unitProgram{}, err
	}
	program.Command = script
	return program, nil
}

// startAndStop sets the options of programs that a start operation leaves running.
func (u *unitProgram) startAndStop(cfg config.Component) (err error) {
	if u.Kind == protocol.KindStart || u.Kind == protocol.KindStop {
		u.StopWait = int(config.ParseDuration(cfg.StopGrace).Seconds())
	}
	if u.Kind != protocol.KindStart {
		return nil
	}
	if cfg.StopSignal != config.DefaultStopSignal {
		u.StopSignal = cfg.StopSignal
	}
	if u.Live, err = live(cfg.Liveness); err != nil {
		return err
	}
	u.Ready, err = ready(cfg.Readiness)
	return err
}

// live returns the keys of a liveness check.
func live(l config.Liveness) ([]unitKey, error) {
	if l == (config.Liveness{}) {
		return nil, nil
	}
	command, err := shellWords(l.Command)
	if err != nil {
		return nil, fmt.Errorf("liveness: command: %w", err)
	}
	keys := []unitKey{
		{"tcp", l.TCP},
		{"http", percent(address(l.HTTP))},
		{"status", l.Status},
		{"text", percent(l.Text)},
		{"command", command},
		{"interval", seconds(config.ParseDuration(l.Interval))},
		{"timeout", seconds(config.ParseDuration(l.Timeout))},
		{"failures", strconv.Itoa(l.Failures)},
		{"grace", seconds(config.ParseDuration(l.Grace))},
		{"then", l.Then},
	}
	return slices.DeleteFunc(keys, func(k unitKey) bool { return k.Value == "" }), nil
}

// ready returns the keys of a readiness check.
func ready(r config.Readiness) ([]unitKey, error) {
	if r.None {
		return nil, nil
	}
	command, err := shellWords(r.Command)
	if err != nil {
		return nil, fmt.Errorf("readiness: command: %w", err)
	}
	notify := ""
	if r.Notify {
		notify = "true"
	}
	keys := []unitKey{
		{"tcp", r.TCP},
		{"http", percent(address(r.HTTP))},
		{"command", command},
		{"log", pattern(r.Log)},
		{"notify", notify},
		{"timeout", seconds(config.ParseDuration(r.Timeout))},
		{"interval", seconds(config.ParseDuration(r.Interval))},
	}
	return slices.DeleteFunc(keys, func(k unitKey) bool { return k.Value == "" }), nil
}

// scriptCommand returns the command that runs a script: the script itself, or sh if it has no
// interpreter line.
func scriptCommand(archive fs.FS, at, script string) (string, error) {
	head, err := firstBytes(archive, script)
	if err != nil {
		return "", fmt.Errorf("script %q: %w", script, err)
	}
	if tosca.RunsItself(head) {
		return command(at), nil
	}
	return command("/bin/sh", at), nil
}

// inputs returns an operation's INPUT_ variables, without that prefix and without secret ones.
func (p *planner) inputs(c spec.Component, o spec.Operation) map[string]string {
	values := map[string]string{}
	for _, in := range o.Inputs {
		if !p.hidden(c.Name, in.Name) {
			values[strings.ToUpper(in.Name)] = p.inputValue(c, in)
		}
	}
	return values
}

// inputValue returns the value of an input; for an artifact, its path in the container.
func (p *planner) inputValue(c spec.Component, in spec.OperationInput) string {
	return in.Resolve(func(owner, artifact string) string {
		return appPath(p.artifactFolder(c, owner), artifact)
	})
}

// artifactFolder returns the component whose folder contains an artifact that an input refers to: its
// owner if that is in the same container, otherwise the component itself, which gets a copy.
func (p *planner) artifactFolder(c spec.Component, owner string) string {
	i := slices.IndexFunc(p.app.Components, func(o spec.Component) bool { return o.Name == owner })
	if i >= 0 && p.app.Components[i].Node == c.Node {
		return owner
	}
	return c.Name
}

// checkInputs rejects inputs that share an environment variable, and inputs whose name cannot be
// one.
func (p *planner) checkInputs(c spec.Component) {
	for name, o := range c.Operations() {
		seen := map[string]string{}
		for _, in := range o.Inputs {
			subject := fmt.Sprintf("component %q: operation %q: input %q", c.Name, name, in.Name)
			upper := strings.ToUpper(in.Name)
			if other, ok := seen[upper]; ok {
				p.report("%s: has the same variable INPUT_%s as %q", subject, upper, other)
			}
			seen[upper] = in.Name
			if strings.ContainsAny(in.Name, "=\x00") || strings.ContainsRune(in.Value, 0) {
				p.report("%s: is not a valid name for an environment variable", subject)
			}
		}
	}
}
