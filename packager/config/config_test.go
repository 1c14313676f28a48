package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

func target() config.Target {
	return config.Target{
		App: "shop",
		Nodes: []config.TargetNode{
			{Name: "backend", Toskosed: true, Ports: []spec.Port{{Container: 9001, Protocol: "tcp"}, {Container: 8000, Host: 8080, Protocol: "tcp"}}},
			{Name: "frontend", Toskosed: true},
			{Name: "store", Env: []string{"MODE", "TOKEN"}},
		},
		Components: map[string]config.TargetComponent{
			"api": {
				Node: "backend", Requires: []string{"connection", "db"}, Port: 8000,
				Operations: map[string]config.TargetOperation{
					"Standard.start": {Kind: "start"},
					"own.push":       {Kind: "run", States: []string{"created", "deleted", "running"}},
				},
			},
			"lint": {Node: "frontend", Operations: map[string]config.TargetOperation{"Standard.create": {Kind: "run"}}},
			"web":  {Node: "frontend", Operations: map[string]config.TargetOperation{"Standard.start": {Kind: "start"}}},
		},
	}
}

func TestEveryMistakeIsReportedAtItsPlace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want string
	}{
		"unknown keys, with what was meant": {
			"manger: {}\nnodes:\n  backend:\n    prot: 9001\n    docker: {nme: x}\n",
			`toskose.yml:1:1: manger: unknown key; did you mean "manager"?
toskose.yml:4:5: nodes.backend.prot: unknown key; did you mean "port"?
toskose.yml:5:14: nodes.backend.docker.nme: unknown key; did you mean "name"?`,
		},
		"wrong types": {
			"nodes:\n  backend:\n    port: many\n    user: [a]\n  frontend: 7\nmanager:\n  - port\n",
			`toskose.yml:3:11: nodes.backend.port: must be a whole number, not text
toskose.yml:4:11: nodes.backend.user: must be text, not a list
toskose.yml:5:13: nodes.frontend: must be a mapping, not the value 7
toskose.yml:7:3: manager: must be a mapping, not a list`,
		},
		"not a mapping at all": {
			"hello\n", `toskose.yml:1:1: must be a mapping, not text`,
		},
		"ports out of range": {
			"nodes:\n  backend: {port: 0}\n  frontend: {port: 65536}\nmanager: {port: -1}\n",
			`toskose.yml:2:19: nodes.backend.port: 0 is not a port: it must be from 1 to 65535
toskose.yml:3:20: nodes.frontend.port: 65536 is not a port: it must be from 1 to 65535
toskose.yml:4:17: manager.port: -1 is not a port: it must be from 1 to 65535`,
		},
		"what collides": {
			"nodes:\n  backend: {port: 9001, alias: x}\n  frontend: {port: 9001, alias: x}\nmanager: {port: 8080, alias: x}\n",
			`toskose.yml:2:19: nodes.backend.port: 9001 is a port of the application in the same container
toskose.yml:3:20: nodes.frontend.port: 9001 is already taken by nodes.backend
toskose.yml:3:33: nodes.frontend.alias: "x" is already taken by nodes.backend
toskose.yml:4:17: manager.port: 8080 is a port that the application publishes
toskose.yml:4:30: manager.alias: "x" is already taken by nodes.backend`,
		},
		"nodes that are not there, or have no unit": {
			"nodes:\n  backnd: {}\n  store: {alias: db, port: 9001}\n",
			`toskose.yml:2:3: nodes.backnd: the application has no container of this name; did you mean "backend"?
toskose.yml:3:3: nodes.store: the container hosts no components, so it has no unit; only its alias, ports, deploy, compose and kubernetes can be set`,
		},
		"published ports": {
			"nodes:\n  store:\n    ports:\n    - '80'\n    - '80:x'\n    - '127.0.0.1:0:80'\n    - '::1:80:80'\n    - '80:80/sctp'\n    - '1.2.3.4:80:80'\n    - '0.0.0.0:80:81'\n    - '[::1]:80:80'\n  backend: {ports: ['1:9007'], port: 9007}\nmanager: {port: 80}\n",
			`toskose.yml:4:7: nodes.store.ports.0: "80" is not a published port: write HOST:CONTAINER or ADDRESS:HOST:CONTAINER, such as 127.0.0.1:8080:80 or [::1]:8080:80, with /udp behind it if any
toskose.yml:5:7: nodes.store.ports.1: "80:x" is not a published port: write HOST:CONTAINER or ADDRESS:HOST:CONTAINER, such as 127.0.0.1:8080:80 or [::1]:8080:80, with /udp behind it if any
toskose.yml:6:7: nodes.store.ports.2: "127.0.0.1:0:80" is not a published port: write HOST:CONTAINER or ADDRESS:HOST:CONTAINER, such as 127.0.0.1:8080:80 or [::1]:8080:80, with /udp behind it if any
toskose.yml:7:7: nodes.store.ports.3: "::1:80:80" is not a published port: write HOST:CONTAINER or ADDRESS:HOST:CONTAINER, such as 127.0.0.1:8080:80 or [::1]:8080:80, with /udp behind it if any
toskose.yml:8:7: nodes.store.ports.4: "80:80/sctp" is not a published port: write HOST:CONTAINER or ADDRESS:HOST:CONTAINER, such as 127.0.0.1:8080:80 or [::1]:8080:80, with /udp behind it if any
toskose.yml:10:7: nodes.store.ports.6: port 0.0.0.0:80/tcp of the host is listed twice
toskose.yml:12:38: nodes.backend.port: 9007 is a port of the application in the same container
toskose.yml:13:17: manager.port: 80 is a port that the application publishes`,
		},
		"paths of the host that are not absolute": {
			"allow_host: [/srv, ./srv]\nvolumes: {data: {driver_opts: {o: 'rw,bind', device: srv}}}\n",
			`toskose.yml:1:20: allow_host.1: "./srv" is not an absolute path
toskose.yml:2:46: volumes.data.driver_opts.device: "srv" is not an absolute path: no folder of the host is known that it could be relative to`,
		},
		"keys of a service in Compose files": {
			`nodes:
  store:
    compose:
      image: x
      cap_ad: [A]
      networks: {x: null}
      environment: {MODE: x, TOSKOSE_X: 1, FREE: null, TOKEN_FILE: /x, LIST: [a]}
      labels: [io.toskose.app=x, team=y]
      env_file: [/etc/x, ./y]
      tmpfs: /toskose/state:size=1m
      user: root
    deploy: {labels: {team: x}}
  backend:
    compose: {user: root, environment: [A, =b], init: true}
  frontend: {compose: [a], kubernetes: {patch: 1, path: {}}}
secrets: [store.TOKEN]
`,
			`toskose.yml:4:7: nodes.store.compose.image: cannot be set: Toskose sets it: see docker
toskose.yml:5:7: nodes.store.compose.cap_ad: unknown key of a service in Compose 3.7; did you mean "cap_add"?
toskose.yml:6:7: nodes.store.compose.networks: cannot be set: all containers share the network that Toskose sets
toskose.yml:7:21: nodes.store.compose.environment.MODE: MODE is set by the application
toskose.yml:7:30: nodes.store.compose.environment.TOSKOSE_X: TOSKOSE_X: the name is reserved for the unit
toskose.yml:7:44: nodes.store.compose.environment.FREE: FREE has no value: Toskose does not take variables from the environment of Compose
toskose.yml:7:56: nodes.store.compose.environment.TOKEN_FILE: TOKEN_FILE is set by the application
toskose.yml:7:72: nodes.store.compose.environment.LIST: must be text, not a list
toskose.yml:8:16: nodes.store.compose.labels.0: io.toskose.app is a label that Toskose or Docker sets
toskose.yml:8:34: nodes.store.compose.labels.1: team is also in deploy.labels
toskose.yml:9:26: nodes.store.compose.env_file.1: "./y" is not an absolute path: Compose would look for it in the packaged folder
toskose.yml:10:7: nodes.store.compose.tmpfs: "/toskose/state" would hide files of Toskose
toskose.yml:14:15: nodes.backend.compose.user: cannot be set: the image's user runs the unit; set user of a component for its operations
toskose.yml:14:41: nodes.backend.compose.environment.0: A has no value: Toskose does not take variables from the environment of Compose
toskose.yml:14:44: nodes.backend.compose.environment.1: has no name
toskose.yml:15:23: nodes.frontend.compose: must be a mapping, not a list
toskose.yml:15:48: nodes.frontend.kubernetes.patch: must be a mapping, not the value 1
toskose.yml:15:51: nodes.frontend.kubernetes.path: unknown key; did you mean "patch"?`,
		},
		"external volumes": {
			"volumes:\n  data: {name: x, driver: local}\n  other: {external: true, name: -x, driver: local, driver_opts: {type: nfs}}\n",
			`toskose.yml:2:16: volumes.data.name: is the name of an existing volume, which needs external: true; the application names its own volumes itself
toskose.yml:3:3: volumes.other: the application has no volume of this name
toskose.yml:3:33: volumes.other.name: "-x" is not the name of a volume: 2 to 253 letters, digits, '_', '.' and '-'
toskose.yml:3:45: volumes.other.driver: cannot be set for an external volume: it exists already, with its own driver and options
toskose.yml:3:65: volumes.other.driver_opts: cannot be set for an external volume: it exists already, with its own driver and options`,
		},
		"operations": {
			"components:\n  apo: {}\n  api:\n    operations:\n      Standard.start: {kind: strt, states: [running]}\n      own.pusch: {}\n      own.push: {states: [runnig, created, created]}\n",
			`toskose.yml:2:3: components.apo: the application has no component of this name; did you mean "api"?
toskose.yml:5:30: components.api.operations.Standard.start.kind: "strt" is not one of run, start, stop; did you mean "start"?
toskose.yml:5:44: components.api.operations.Standard.start.states: the component's protocol says in which states the operation may run
toskose.yml:6:7: components.api.operations.own.pusch: the component has no operation of this name with a script; did you mean "own.push"?
toskose.yml:7:27: components.api.operations.own.push.states.0: "runnig" is not a state that it may run in, which are created, deleted, running; did you mean "running"?
toskose.yml:7:44: components.api.operations.own.push.states.2: "created" is listed twice`,
		},
		"modes, levels and names": {
			"nodes:\n  backend: {log_level: INFOS, alias: -x, user: 'a:b', password: '{SHA}ab'}\nmanager: {mode: prod, secret_key: \"a\\nb\", client_ca: x, bind: here, tls: {key: k}}\n",
			`toskose.yml:2:24: nodes.backend.log_level: "INFOS" is not one of CRITICAL, ERROR, WARN, INFO, DEBUG, TRACE, BLATHER; did you mean "INFO"?
toskose.yml:2:38: nodes.backend.alias: "-x" is not a name for a network: letters, digits, '-', '_' and '.', at most 63
toskose.yml:2:48: nodes.backend.user: "a:b" must have no colon, quotation mark or control character
toskose.yml:2:65: nodes.backend.password: must be clear text: the manager sends it
toskose.yml:3:17: manager.mode: "prod" is not one of production, testing
toskose.yml:3:35: manager.secret_key: must have no line break or other control character
toskose.yml:3:54: manager.client_ca: must be certificates in PEM
toskose.yml:3:63: manager.bind: "here" is not an address: write 127.0.0.1, one of the machine's own, or 0.0.0.0 for all
toskose.yml:3:74: manager.tls: needs certificate and key`,
		},
		"images": {
			"nodes:\n  backend:\n    docker: {name: 'reg/X:1', tag: a b, base_image: 'py:3', base_tag: '4'}\n  frontend:\n    docker: {name: 'x:1', base_image: UPPER}\n",
			`toskose.yml:3:20: nodes.backend.docker.name: "reg/X:1" is not an image name: invalid reference format: repository name (reg/X) must be lowercase
toskose.yml:3:36: nodes.backend.docker.tag: "a b" is not a tag
toskose.yml:3:71: nodes.backend.docker.base_tag: "py:3" already has a tag or digest
toskose.yml:5:20: nodes.frontend.docker.name: "x:1" must have no tag or digest; the tag has its own key
toskose.yml:5:39: nodes.frontend.docker.base_image: "UPPER" is not an image: invalid reference format: repository name (library/UPPER) must be lowercase`,
		},
		"what is too long by a character": {
			"nodes:\n  backend: {alias: " + strings.Repeat("a", 63) + ", docker: {tag: " + strings.Repeat("t", 128) + "}}\n" +
				"  frontend: {alias: " + strings.Repeat("a", 64) + ", docker: {tag: " + strings.Repeat("t", 129) + "}}\n",
			`toskose.yml:3:21: nodes.frontend.alias: "` + strings.Repeat("a", 64) + `" is not a name for a network: letters, digits, '-', '_' and '.', at most 63
toskose.yml:3:101: nodes.frontend.docker.tag: "` + strings.Repeat("t", 129) + `" is not a tag`,
		},
		"deploy": {
			"nodes:\n  store:\n    deploy:\n      replicas: -1\n      resources: {limits: {cpus: many, memory: 1Gi}}\n      placement: {constraints: [a==b, ssd], preferences: [{}, x]}\n" +
				"      restart_policy: {condition: always, delay: soon, max_attempts: x}\n      update_config: {max_failure_ratio: high, order: first, failure_action: rolback}\n      rollback_config: {failure_action: rollback, max_failure_ratio: 1.5}\n",
			`toskose.yml:4:17: nodes.store.deploy.replicas: -1 is less than 0
toskose.yml:5:34: nodes.store.deploy.resources.limits.cpus: "many" is not a number of processors
toskose.yml:5:48: nodes.store.deploy.resources.limits.memory: "1Gi" is not an amount of memory: a number and b, k, m or g
toskose.yml:6:39: nodes.store.deploy.placement.constraints.1: "ssd" is not KEY==VALUE or KEY!=VALUE
toskose.yml:6:59: nodes.store.deploy.placement.preferences.0: needs spread, the label to spread over
toskose.yml:6:63: nodes.store.deploy.placement.preferences.1: must be a mapping, not text
toskose.yml:7:35: nodes.store.deploy.restart_policy.condition: "always" is not one of none, on-failure, any
toskose.yml:7:50: nodes.store.deploy.restart_policy.delay: "soon" is not a duration: write 10s or 1m30s
toskose.yml:7:70: nodes.store.deploy.restart_policy.max_attempts: must be a whole number, not text
toskose.yml:8:42: nodes.store.deploy.update_config.max_failure_ratio: must be a number, not text
toskose.yml:8:55: nodes.store.deploy.update_config.order: "first" is not one of stop-first, start-first
toskose.yml:8:78: nodes.store.deploy.update_config.failure_action: "rolback" is not one of continue, rollback, pause; did you mean "rollback"?
toskose.yml:9:41: nodes.store.deploy.rollback_config.failure_action: "rollback" is not one of continue, pause
toskose.yml:9:70: nodes.store.deploy.rollback_config.max_failure_ratio: 1.5 is not between 0 and 1`,
		},
		"volumes and secrets that are not there": {
			"volumes: {dat: {driver: nfs}}\nsecrets: [api.tokn, api.token, api.token, [x]]\n",
			`toskose.yml:1:11: volumes.dat: the application has no volume of this name; did you mean "data"?
toskose.yml:2:11: secrets.0: "api.tokn" is neither COMPONENT.INPUT nor CONTAINER.VARIABLE of the application; did you mean "api.token"?
toskose.yml:2:32: secrets.2: "api.token" is listed twice
toskose.yml:2:43: secrets.3: must be text, not a list`,
		},
		"liveness": {
			"nodes:\n  backend:\n    components:\n      api:\n        liveness: {tcp: api, http: 'ftp://x', status: 600, text: 'a ;b', command: '\"', timeout: 1ms, failures: 0, then: reboot}\n" +
				"  frontend: {components: {web: {liveness: {interval: 1s}}, lint: {liveness: {tcp: 80, status: 200}}}}\n",
			`toskose.yml:5:25: nodes.backend.components.api.liveness.tcp: "api" is neither PORT nor HOST:PORT
toskose.yml:5:36: nodes.backend.components.api.liveness.http: "ftp://x" is not an address of the form http://HOST:PORT/PATH
toskose.yml:5:55: nodes.backend.components.api.liveness.status: "600" is neither a status such as 200 nor a range such as 200-299
toskose.yml:5:66: nodes.backend.components.api.liveness.text: "a ;b" begins or ends with white space, or has ; or # after white space, which cannot be passed to the unit
toskose.yml:5:83: nodes.backend.components.api.liveness.command: a quotation mark is not closed
toskose.yml:5:97: nodes.backend.components.api.liveness.timeout: "1ms" is less than 10ms
toskose.yml:5:112: nodes.backend.components.api.liveness.failures: 0 is less than 1
toskose.yml:5:121: nodes.backend.components.api.liveness.then: "reboot" is not one of restart, report, exit; did you mean "report"?
toskose.yml:6:43: nodes.frontend.components.web.liveness: needs tcp, http or command
toskose.yml:6:77: nodes.frontend.components.lint.liveness: no operation of the component starts it
toskose.yml:6:95: nodes.frontend.components.lint.liveness.status: needs http`,
		},
		"how components run": {
			"nodes:\n  backend:\n    coredump_mark: maybe\n    max_unavailable: 0\n    components:\n      api:\n        redines: none\n        readiness: {tcp: api, http: 'ftp://x', command: 'a \"b', log: '(', notify: 1, timeout: 5ms, interval: soon}\n" +
				"        output: prefix\n        stop_signal: SIGTREM\n        stop_grace: 1500ms\n        user: 'a b'\n        restart: {stable: 60, delay_max: -1s, attempts: 17}\n" +
				"        requirements: {connction: {while_away: up}, host: {while_away: keep}}\n        operations: {Standard.start: {timeout: 99999999h, attempts: -1, user: ':x'}}\nmanager: {goal: down}\n",
			`toskose.yml:3:20: nodes.backend.coredump_mark: must be true or false, not text
toskose.yml:4:22: nodes.backend.max_unavailable: 0 is less than 1
toskose.yml:7:9: nodes.backend.components.api.redines: unknown key; did you mean "readiness"?
toskose.yml:8:26: nodes.backend.components.api.readiness.tcp: "api" is neither PORT nor HOST:PORT
toskose.yml:8:37: nodes.backend.components.api.readiness.http: "ftp://x" is not an address of the form http://HOST:PORT/PATH
toskose.yml:8:57: nodes.backend.components.api.readiness.command: a quotation mark is not closed
toskose.yml:8:70: nodes.backend.components.api.readiness.log: "(" is not a regular expression (RE2)
toskose.yml:8:83: nodes.backend.components.api.readiness.notify: must be true or false, not the value 1
toskose.yml:8:95: nodes.backend.components.api.readiness.timeout: "5ms" is less than 10ms
toskose.yml:8:110: nodes.backend.components.api.readiness.interval: "soon" is not a duration: write 10s or 1m30s
toskose.yml:9:17: nodes.backend.components.api.output: "prefix" is not one of prefixed, json, none; did you mean "prefixed"?
toskose.yml:10:22: nodes.backend.components.api.stop_signal: "TREM" is not one of TERM, INT, QUIT, HUP, KILL, USR1, USR2, WINCH, ABRT, ALRM, PIPE, PWR; did you mean "TERM"?
toskose.yml:11:21: nodes.backend.components.api.stop_grace: "1500ms" is not a whole number of seconds
toskose.yml:12:15: nodes.backend.components.api.user: "a b" is neither USER nor USER:GROUP, by name or number
toskose.yml:13:27: nodes.backend.components.api.restart.stable: "60" is not a duration: write 10s or 1m30s
toskose.yml:13:42: nodes.backend.components.api.restart.delay_max: "-1s" is not a duration: write 10s or 1m30s
toskose.yml:13:57: nodes.backend.components.api.restart.attempts: 17 is more than 16, which is as far as attempts are counted
toskose.yml:14:24: nodes.backend.components.api.requirements.connction: the component has no requirement of this name; did you mean "connection"?
toskose.yml:14:48: nodes.backend.components.api.requirements.connction.while_away: "up" is not one of keep, down
toskose.yml:14:53: nodes.backend.components.api.requirements.host: a component always goes down with its host
toskose.yml:15:48: nodes.backend.components.api.operations.Standard.start.timeout: "99999999h" is not a duration: write 10s or 1m30s
toskose.yml:15:69: nodes.backend.components.api.operations.Standard.start.attempts: -1 is less than 1
toskose.yml:15:79: nodes.backend.components.api.operations.Standard.start.user: ":x" is neither USER nor USER:GROUP, by name or number
toskose.yml:16:17: manager.goal: "down" is not one of none, up`,
		},
		"variables of the manager": {
			"manager:\n  env: {OTEL_EXPORTER_OTLP_ENDPOINT: http://otel:4318, OTEL_EXPORTER_OTLP_HEADERS: a=b, SECRET_KEY_FILE: /x}\n",
			`toskose.yml:2:56: manager.env.OTEL_EXPORTER_OTLP_HEADERS: headers are credentials, and manifests are not secret: send traces to a collector that needs none, and have it send them on
toskose.yml:2:89: manager.env.SECRET_KEY_FILE: the manager has no such variable: only variables of OpenTelemetry (OTEL_*) are set here`,
		},
		"components that are elsewhere, or have nothing to be ready for": {
			"nodes:\n  backend: {components: {web: {}, api: {readiness: later}}}\n  frontend:\n    components:\n      lint: {readiness: {tcp: 80}}\n      web: {readiness: {timeout: 5s}}\n" +
				"  store: {components: {api: {}}}\ncomponents: {web: {output: json}}\n",
			`toskose.yml:2:26: nodes.backend.components.web: the component is in the container "frontend"
toskose.yml:2:52: nodes.backend.components.api.readiness: must be a mapping or none, not text
toskose.yml:5:25: nodes.frontend.components.lint.readiness: no operation of the component starts it
toskose.yml:6:24: nodes.frontend.components.web.readiness: needs tcp, http, command, log or notify: the component has no port to be ready at
toskose.yml:7:3: nodes.store: the container hosts no components, so it has no unit; only its alias, ports, deploy, compose and kubernetes can be set
toskose.yml:8:14: components.web: is configured by nodes.frontend.components.web, too`,
		},
		"log files": {
			"nodes:\n  backend:\n    logs: {total: 16m}\n    components:\n      api:\n        logs: {size: 63k, files: 0}\n        operations: {Standard.start: {logs: {size: big, files: 1001}}}\n",
			`toskose.yml:6:22: nodes.backend.components.api.logs.size: "63k" is less than 64k
toskose.yml:6:34: nodes.backend.components.api.logs.files: 0 is less than 1
toskose.yml:7:52: nodes.backend.components.api.operations.Standard.start.logs.size: "big" is not an amount: a number and b, k, m or g
toskose.yml:7:64: nodes.backend.components.api.operations.Standard.start.logs.files: 1001 is more than 1000`,
		},
		"log files that need more than there is": {
			"nodes:\n  backend: {logs: {total: 64m}}\ncomponents: {api: {operations: {Standard.start: {logs: {size: 10m, files: 5}}}}}\n",
			`toskose.yml:2:27: nodes.backend.logs.total: "64m" is too little for the log files of the unit and of 2 operations, which need 142m; smaller or fewer files need less`,
		},
		"a key twice":   {"title: a\ntitle: b\n", `toskose.yml:2:1: title: is set twice`},
		"broken YAML":   {"nodes:\n\t- x\n", `toskose.yml:2:1: is not valid YAML: found character that cannot start any token`},
		"two documents": {"title: a\n---\ntitle: b\n", `toskose.yml:2:1: holds more than one YAML document`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := target()
			to.Volumes, to.Values = []string{"data"}, []string{"api.token", "store.TOKEN"}
			_, err := config.Parse("toskose.yml", []byte(test.text)).Check(&to)
			var problems config.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPasswordsAreNotInMessages(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("toskose.yml", []byte("manager: {password: {hush: hush2}, secret_key: [hush3]}\nnodes: {a: {password: \"hush4\\n\"}}\n")).Check(nil)
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v", err)
	}
}

func TestAnEmptyFileIsCompleted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "nodes:\nmanager:\n", "---\n"} {
		to := target()
		cfg, err := config.Parse("toskose.yml", []byte(text)).Check(&to)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got := config.Complete(cfg, to)
		docker := func(name string) config.Docker { return config.Docker{Name: name, Tag: "latest"} }
		component := func(r config.Readiness) config.Component {
			return config.Component{
				Readiness: r, Output: "prefixed", StopSignal: "TERM", StopGrace: "10s",
				Restart: config.Restart{Stable: "60s", DelayMax: "300s", Attempts: 3},
			}
		}
		want := config.Config{
			Nodes: map[string]config.Node{
				"backend": {
					Alias: "backend", Port: 9002, User: "admin", LogLevel: "INFO", Docker: docker("shop-backend-toskosed"),
					Components: map[string]config.Component{"api": component(config.Readiness{TCP: "8000", Timeout: "60s", Interval: "200ms"})},
				},
				"frontend": {
					Alias: "frontend", Port: 9003, User: "admin", LogLevel: "INFO", Docker: docker("shop-frontend-toskosed"),
					Components: map[string]config.Component{
						"lint": component(config.Readiness{None: true}), "web": component(config.Readiness{None: true}),
					},
				},
				"store": {Alias: "store"},
			},
			Manager: config.Manager{Alias: "toskose-manager", Port: 10000, Bind: "127.0.0.1", User: "admin", Mode: "production", Goal: "none", Docker: docker("shop-manager")},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestCompletionChangesNothingThatIsThere(t *testing.T) {
	t.Parallel()
	to := target()
	cfg, err := config.Parse("toskose.yml", []byte(`
nodes:
  frontend: {port: 9002, alias: web, user: eve, password: 0123, log_level: debug, docker: {name: reg:5000/a/b, tag: 1.10, registry_password: p, base_image: x, base_tag: 3}}
  backend:
    coredump_mark: false
    max_unavailable: 2
    components:
      api:
        readiness: {http: "http://127.0.0.1/ok", command: ./check --all, log: "listen.*", notify: true, timeout: 2m, interval: 1s}
        liveness: {http: "http://127.0.0.1/ok", status: 200, text: well, command: ./check, tcp: 80, timeout: 1s, interval: 20s, failures: 2, grace: 1m, then: exit}
        output: json
        stop_signal: QUIT
        stop_grace: 30s
        user: nobody:nogroup
        restart: {stable: 5m, delay_max: 1h, attempts: 1}
        requirements: {db: {while_away: down, live: true}}
        operations: {own.push: {kind: start, states: [running], timeout: 5m, attempts: 1, user: root}}
manager: {port: 9003, mode: testing, goal: up, secret_key: k, password: pw}
`)).Check(&to)
	if err != nil {
		t.Fatal(err)
	}
	got := config.Complete(cfg, to)
	if diff := cmp.Diff(cfg.Nodes["frontend"], got.Nodes["frontend"], cmpopts.IgnoreFields(config.Node{}, "Components")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(cfg.Nodes["backend"].Components, got.Nodes["backend"].Components); diff != "" {
		t.Error(diff)
	}
	if f := got.Nodes["frontend"]; f.Password != "0123" || f.Docker.Image() != "reg:5000/a/b:1.10" {
		t.Errorf("text is not kept as written: %+v", f)
	}
	if p := got.Nodes["backend"].Port; p != 9004 {
		t.Errorf("backend got port %d: 9001 is its application's, 9002 and 9003 are the user's", p)
	}
	if got.Manager.Port != 9003 || got.Manager.Goal != "up" || got.Manager.SecretKey != "k" {
		t.Errorf("manager %+v", got.Manager)
	}
}

func TestTheEncodedFileHoldsNoSecretAndReadsBack(t *testing.T) {
	t.Parallel()
	to := target()
	cfg := config.Complete(config.Config{
		Title:   "x: y",
		Nodes:   map[string]config.Node{"backend": {Password: "hush1", Docker: config.Docker{RegistryPassword: "hush2"}}},
		Manager: config.Manager{Password: "hush3", SecretKey: "hush4", Docker: config.Docker{RegistryPassword: "hush5"}},
	}, to)
	data, err := config.Encode(cfg)
	if err != nil || strings.Contains(string(data), "hush") {
		t.Fatalf("error %v, text:\n%s", err, data)
	}
	back, err := config.Parse("toskose.yml", data).Check(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Complete(back, to), back); diff != "" {
		t.Error(diff)
	}
	var loose config.Config // as the manager reads it
	if err := yaml.Unmarshal(data, &loose); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(back, loose); diff != "" {
		t.Errorf("read strictly (-) and by the manager (+):\n%s", diff)
	}
	if cfg.Manager.Password != "hush3" || cfg.Nodes["backend"].Password != "hush1" {
		t.Error("encoding changed its argument")
	}
}

func TestAComponentMayBeConfiguredWithoutItsContainer(t *testing.T) {
	t.Parallel()
	to := target()
	decode := func(text string) config.Config {
		cfg, err := config.Parse("toskose.yml", []byte(text)).Check(&to)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	short := decode("components: {api: {output: json}, web: {user: nobody}}\nnodes: {backend: {port: 9100}}\n")
	full := decode("nodes: {backend: {port: 9100, components: {api: {output: json}}}, frontend: {components: {web: {user: nobody}}}}\n")
	if diff := cmp.Diff(full, short); diff != "" {
		t.Error(diff)
	}
}

func TestABaseIsOverriddenInPart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		docker         config.Docker
		fallback, want string
	}{
		{config.Docker{}, "python:3", "python:3"},
		{config.Docker{BaseTag: "4"}, "reg:5000/a/python:3", "reg:5000/a/python:4"},
		{config.Docker{BaseTag: "4"}, "python@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "python:4"},
		{config.Docker{BaseImage: "x:y"}, "python:3", "x:y"},
		{config.Docker{BaseImage: "x", BaseTag: "y"}, "python:3", "x:y"},
	}
	for _, test := range tests {
		if got, err := test.docker.Base(test.fallback); err != nil || got != test.want {
			t.Errorf("%+v on %q: %q, %v", test.docker, test.fallback, got, err)
		}
	}
}

func FuzzDecodeGivesAProblemOrAConfiguration(f *testing.F) {
	f.Add("nodes: {a: {port: 1}}\nmanager: {port: x}\n")
	f.Add("a: &a [*a]\n")
	f.Add("nodes: &n {x: *n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		to := target()
		cfg, err := config.Parse("f", []byte(text)).Check(&to)
		var problems config.Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("error %T", err)
		}
		if err == nil {
			config.Complete(cfg, to)
		}
	})
}

func TestAFragmentHasLimits(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{a: ", 50) + "1" + strings.Repeat("}", 50)
	bomb := "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d]\n"
	for name, text := range map[string]string{
		"deep":  "nodes: {backend: {kubernetes: {patch: " + deep + "}}}",
		"large": "nodes:\n  backend:\n    kubernetes:\n      patch:\n" + "        " + strings.ReplaceAll(strings.TrimSpace(bomb), "\n", "\n        ") + "\n",
		"self":  "nodes: {backend: {kubernetes: {patch: &a {a: *a}}}}",
	} {
		_, err := config.Parse("toskose.yml", []byte(text)).Check(nil)
		if err == nil || !strings.Contains(err.Error(), "nodes.backend.kubernetes.patch: has more than 5000 values, or is nested more than 40 levels deep") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := config.Parse("toskose.yml", []byte("nodes: {backend: {kubernetes: {patch: {<<: {a: b}}}}}")).Check(nil); err == nil ||
		err.Error() != "toskose.yml:1:40: nodes.backend.kubernetes.patch.<<: merge keys are not supported here" {
		t.Error(err)
	}
}
