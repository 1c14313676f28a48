package kubernetes

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/output"
)

// Objects of the Kubernetes API, with only the fields used here. The official types would double the size of the binary; tests
// validate every manifest against them.

type object struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       any      `yaml:"spec,omitempty"`
}

type metadata struct {
	Name        string            `yaml:"name,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type workloadSpec struct {
	Replicas      int         `yaml:"replicas"`
	ServiceName   string      `yaml:"serviceName,omitempty"`         // StatefulSet only
	PodManagement string      `yaml:"podManagementPolicy,omitempty"` // StatefulSet only
	Selector      selector    `yaml:"selector"`
	Strategy      *strategy   `yaml:"strategy,omitempty"` // Deployment only
	MinReady      int         `yaml:"minReadySeconds,omitempty"`
	Template      podTemplate `yaml:"template"`
}

type strategy struct {
	Type          string         `yaml:"type"`
	RollingUpdate *rollingUpdate `yaml:"rollingUpdate"`
}

type rollingUpdate struct {
	MaxUnavailable int `yaml:"maxUnavailable"`
	MaxSurge       int `yaml:"maxSurge"`
}

type affinity struct {
	Node nodeAffinity `yaml:"nodeAffinity"`
}

type nodeAffinity struct {
	Required nodeTerms `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
}

type nodeTerms struct {
	Terms []nodeTerm `yaml:"nodeSelectorTerms"`
}

type nodeTerm struct {
	Expressions []expression `yaml:"matchExpressions"`
}

type expression struct {
	Key      string `yaml:"key"`
	Operator string `yaml:"operator"`
	Values   []text `yaml:"values,omitempty"`
}

type topologySpread struct {
	MaxSkew     int      `yaml:"maxSkew"`
	TopologyKey string   `yaml:"topologyKey"`
	Otherwise   string   `yaml:"whenUnsatisfiable"`
	Selector    selector `yaml:"labelSelector"`
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type podTemplate struct {
	Metadata metadata `yaml:"metadata"`
	Spec     podSpec  `yaml:"spec"`
}

type podSpec struct {
	Token        bool             `yaml:"automountServiceAccountToken"`
	ServiceLinks bool             `yaml:"enableServiceLinks"`
	Grace        int              `yaml:"terminationGracePeriodSeconds,omitempty"`
	Restart      string           `yaml:"restartPolicy,omitempty"`
	Security     podSecurity      `yaml:"securityContext"`
	PullSecrets  []reference      `yaml:"imagePullSecrets,omitempty"`
	Affinity     *affinity        `yaml:"affinity,omitempty"`
	Spread       []topologySpread `yaml:"topologySpreadConstraints,omitempty"`
	Tolerations  []toleration     `yaml:"tolerations,omitempty"`
	Containers   []container      `yaml:"containers"`
	Volumes      []volume         `yaml:"volumes,omitempty"`
}

type toleration struct {
	Key      string `yaml:"key"`
	Operator string `yaml:"operator"`
	Effect   string `yaml:"effect"`
	Seconds  int    `yaml:"tolerationSeconds"`
}

type reference struct {
	Name string `yaml:"name"`
}

type podSecurity struct {
	NonRoot bool    `yaml:"runAsNonRoot,omitempty"`
	User    *int64  `yaml:"runAsUser,omitempty"`
	Group   *int64  `yaml:"runAsGroup,omitempty"`
	FSGroup *int64  `yaml:"fsGroup,omitempty"`
	Seccomp seccomp `yaml:"seccompProfile"`
}

type seccomp struct {
	Type string `yaml:"type"`
}

type container struct {
	Name         string             `yaml:"name"`
	Image        string             `yaml:"image"`
	PullPolicy   string             `yaml:"imagePullPolicy"`
	Args         []text             `yaml:"args,omitempty"`
	Env          []variable         `yaml:"env,omitempty"`
	Ports        []containerPort    `yaml:"ports,omitempty"`
	Resources    *resources         `yaml:"resources,omitempty"`
	Startup      *probe             `yaml:"startupProbe,omitempty"`
	Readiness    *probe             `yaml:"readinessProbe,omitempty"`
	Liveness     *probe             `yaml:"livenessProbe,omitempty"`
	Security     *containerSecurity `yaml:"securityContext,omitempty"`
	VolumeMounts []volumeMount      `yaml:"volumeMounts,omitempty"`
}

type variable struct {
	Name  string     `yaml:"name"`
	Value *text      `yaml:"value,omitempty"`
	From  *valueFrom `yaml:"valueFrom,omitempty"`
}

type valueFrom struct {
	Field fieldRef `yaml:"fieldRef"`
}

type fieldRef struct {
	Path string `yaml:"fieldPath"`
}

type containerPort struct {
	Name     string `yaml:"name"`
	Port     int    `yaml:"containerPort"`
	Protocol string `yaml:"protocol"`
}

type resources struct {
	Limits   map[string]string `yaml:"limits,omitempty"`
	Requests map[string]string `yaml:"requests,omitempty"`
}

type probe struct {
	Exec     execAction `yaml:"exec"`
	Period   int        `yaml:"periodSeconds"`
	Timeout  int        `yaml:"timeoutSeconds"`
	Failures int        `yaml:"failureThreshold"`
}

type execAction struct {
	Command []string `yaml:"command,flow"`
}

type containerSecurity struct {
	Escalation   *bool         `yaml:"allowPrivilegeEscalation,omitempty"`
	ReadOnlyRoot bool          `yaml:"readOnlyRootFilesystem,omitempty"`
	Capabilities *capabilities `yaml:"capabilities,omitempty"`
}

type capabilities struct {
	Drop []string `yaml:"drop,flow"`
}

type volumeMount struct {
	Name     string `yaml:"name"`
	Path     text   `yaml:"mountPath"`
	ReadOnly bool   `yaml:"readOnly,omitempty"`
}

type volume struct {
	Name      string           `yaml:"name"`
	Claim     *claimSource     `yaml:"persistentVolumeClaim,omitempty"`
	HostPath  *hostPath        `yaml:"hostPath,omitempty"`
	EmptyDir  *emptyDir        `yaml:"emptyDir,omitempty"`
	Projected *projectedVolume `yaml:"projected,omitempty"`
}

type claimSource struct {
	Name string `yaml:"claimName"`
}

type hostPath struct {
	Path text `yaml:"path"`
}

type emptyDir struct {
	Limit string `yaml:"sizeLimit"`
}

type projectedVolume struct {
	Mode    output.FileMode `yaml:"defaultMode,omitempty"`
	Sources []projection    `yaml:"sources"`
}

type projection struct {
	Secret secretProjection `yaml:"secret"`
}

type secretProjection struct {
	Name string `yaml:"name"`
}

type serviceSpec struct {
	Type      string            `yaml:"type,omitempty"`
	ClusterIP string            `yaml:"clusterIP,omitempty"`
	Unready   bool              `yaml:"publishNotReadyAddresses,omitempty"`
	Selector  map[string]string `yaml:"selector"`
	Ports     []servicePort     `yaml:"ports,omitempty"`
}

type servicePort struct {
	Name     string `yaml:"name"`
	Port     int    `yaml:"port"`
	Target   int    `yaml:"targetPort"`
	Protocol string `yaml:"protocol"`
}

type claimSpec struct {
	Modes     []string  `yaml:"accessModes,flow"`
	Resources resources `yaml:"resources"`
}

type policySpec struct {
	Pods    selector  `yaml:"podSelector"`
	Types   []string  `yaml:"policyTypes,flow"`
	Ingress []ingress `yaml:"ingress"`
}

type ingress struct {
	From  []peer       `yaml:"from,omitempty"`
	Ports []policyPort `yaml:"ports"`
}

type peer struct {
	Pods selector `yaml:"podSelector"`
}

type policyPort struct {
	Protocol string `yaml:"protocol"`
	Port     int    `yaml:"port"`
	End      int    `yaml:"endPort,omitempty"`
}

type kustomization struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Namespace  string   `yaml:"namespace"`
	Resources  []string `yaml:"resources"`

	Configurations []string `yaml:"configurations,omitempty"`

	Secrets []secretGenerator `yaml:"secretGenerator,omitempty"`
}

type secretGenerator struct {
	Name    string           `yaml:"name"`
	Type    string           `yaml:"type"`
	Files   []string         `yaml:"files"`
	Options generatorOptions `yaml:"options"`
}

type generatorOptions struct {
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
	SameName    bool              `yaml:"disableNameSuffixHash,omitempty"` // keep the name when the content changes
}

// text is a value from user input. It is always quoted, so that no parser reads it as a number or boolean.
type text string

// MarshalYAML quotes the text.
func (t text) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: string(t)}, nil
}

// encode returns a file of YAML documents.
func encode(name string, documents ...any) (output.File, error) {
	buf := bytes.NewBufferString(output.Header)
	enc := yaml.NewEncoder(buf)
	enc.SetIndent(2)
	for _, d := range documents {
		if err := enc.Encode(d); err != nil {
			return output.File{}, fmt.Errorf("cannot encode %s: %w", name, err)
		}
	}
	return output.File{Name: name, Mode: 0o644, Data: buf.Bytes()}, enc.Close()
}
