package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// summary is the outcome of packaging, with the next steps; as JSON it is the last line.
type summary struct {
	Kind        string   `json:"event"`
	Application string   `json:"application"`
	Path        string   `json:"path"`
	Images      []string `json:"images,omitempty"`
	Files       []file   `json:"files,omitempty"`
	Host        []string `json:"host,omitempty"`    // paths of the host that it uses
	Secrets     []string `json:"secrets,omitempty"` // commands that create the secrets that must exist before deploying
	Next        []string `json:"next,omitempty"`    // commands
}

// file is a file or folder that packaging wrote.
type file struct {
	Name string `json:"name"`
	What string `json:"what"`
}

// summarise returns the written files and the next commands to enter.
func summarise(dir string, plan *packager.Plan, targets *targetFlags) *summary {
	s := &summary{Kind: eventPackaged, Application: plan.App, Path: dir}
	for _, i := range plan.Images {
		at := slices.IndexFunc(plan.Services, func(s packager.Service) bool { return s.Name == i.Node || s.IsManager && i.Node == "" })
		s.Images = append(s.Images, plan.Services[at].Image)
	}
	for _, h := range plan.Host {
		s.Host = append(s.Host, h.String())
	}
	line := func(name, what string) { s.Files = append(s.Files, file{name, what}) }
	swarm := targets.has(targetSwarm) || targets.has(targetCompose)
	if swarm {
		line(compose.SwarmFile, "for Docker Swarm")
	}
	if targets.has(targetCompose) {
		line(compose.LocalFile, "for a single engine")
	}
	if targets.has(targetKubernetes) {
		line(kubernetes.Kustomization, "for Kubernetes, with "+kubernetes.Folder+"/")
	}
	line(output.ConfigFile, "the configuration, with all defaults")
	if len(plan.Components) > 0 {
		line(output.ComponentsFile, "what `toskose diff` says of components")
	}
	if targets.secrets == secretsExternal {
		s.Secrets = secretCommands(plan, targets)
	} else {
		line(output.SecretsDir+"/", "generated passwords; keep them secret")
	}
	next := func(format string, args ...any) { s.Next = append(s.Next, fmt.Sprintf(format, args...)) }
	next("toskose deploy %s", cli.Word(dir))
	if swarm && targets.has(targetKubernetes) {
		next("toskose deploy --target kubernetes %s", cli.Word(dir))
	}
	if !swarm {
		next("kubectl --namespace %s port-forward service/%s %d", kubernetes.Namespace(plan, targets.kubernetes), kubernetes.ManagerService(plan), plan.Manager().UnitPort)
	}
	manager := output.InfoOf(plan, "").Manager
	if swarm {
		manager.Bind = plan.Config.Manager.Bind
	}
	at := net.JoinHostPort(manager.Host(), strconv.Itoa(manager.Port))
	next("%s", curl(dir, manager, targets.secrets == secretsExternal, manager.Scheme()+"://"+at))
	return s
}

// print prints it as text.
func (s *summary) print(w io.Writer) {
	if s.Kind == eventPlanned {
		fmt.Fprintf(w, "would write manifests and secrets to %s\n", s.Path)
		return
	}
	fmt.Fprintf(w, "\n%s is packaged in %s:\n", s.Application, s.Path)
	for _, f := range s.Files {
		fmt.Fprintf(w, "  %-26s %s\n", f.Name, f.What)
	}
	fmt.Fprintf(w, "\nIts images, by names that stay theirs:\n  %s\n", strings.Join(s.Images, "\n  "))
	if len(s.Host) > 0 {
		fmt.Fprintf(w, "\nIt uses these paths of the host:\n  %s\n", strings.Join(s.Host, "\n  "))
	}
	if len(s.Secrets) > 0 {
		fmt.Fprintf(w, "\nBefore you deploy it, create these secrets, each from a FILE with its value:\n  %s\n", strings.Join(s.Secrets, "\n  "))
	}
	if len(s.Next) > 0 {
		fmt.Fprintf(w, "\nNext:\n  %s\n", strings.Join(s.Next, "\n  "))
	}
}

// curl returns a curl command for the manager at an address.
func curl(dir string, manager output.Manager, external bool, address string) string {
	options := login(dir, manager, external)
	if at, err := url.Parse(address); err == nil && manager.Name != "" && at.Hostname() != manager.Name {
		options += " --connect-to ::" + strings.TrimSuffix(at.Host, at.Port())
		address = at.Scheme + "://" + net.JoinHostPort(manager.Name, at.Port())
	}
	return "curl " + options + " " + address + "/api/v1/node/"
}

// login returns curl's options to log in to the manager. If toskose does not know the password,
// curl prompts for it.
func login(dir string, manager output.Manager, external bool) string {
	if external {
		return "--user " + manager.User
	}
	how := "--netrc-file " + cli.Word(filepath.Join(dir, output.SecretsDir, packager.NetrcFile))
	switch {
	case manager.Name != "":
		how = "--cacert " + cli.Word(output.CertificateFile(dir)) + " " + how
	case manager.TLS:
		how = "--cacert " + cli.Word(output.AuthorityFile(dir)) + " " + how
	}
	return how
}

// makeSecrets gives the commands that make the secrets which have to exist,
// each with its value from a file.
func secretCommands(plan *packager.Plan, targets *targetFlags) (commands []string) {
	command := func(format string, args ...any) { commands = append(commands, fmt.Sprintf(format, args...)) }
	if targets.has(targetSwarm) {
		names := compose.SecretNames(plan)
		for _, s := range plan.Secrets {
			command("docker secret create %s FILE%s", names[s.Name], secretHint(s))
		}
	}
	if !targets.has(targetKubernetes) {
		return commands
	}
	namespace := kubernetes.Namespace(plan, targets.kubernetes)
	if targets.kubernetes.Namespace == "" {
		command("kubectl create namespace %s", namespace)
	}
	names := kubernetes.SecretNames(plan)
	for _, s := range plan.Secrets {
		command("kubectl -n %s create secret generic %s --from-file=%s=FILE%s", namespace, names[s.Name], s.Name, secretHint(s))
	}
	return commands
}

// secretHint describes a secret that is not text.
func secretHint(s packager.Secret) string {
	switch {
	case s.Name == packager.ManagerUsers:
		return "  # who else may use the manager, as `toskose user --file FILE` writes it"
	case s.TLS == nil:
		return ""
	case s.TLS.For == "":
		return "  # the certificate of the authority, in PEM"
	case s.TLS.Key:
		return "  # the private key of " + s.TLS.For + ", in PEM"
	default:
		return "  # a certificate for " + strings.Join(s.TLS.Names, ", ") + ", in PEM"
	}
}
