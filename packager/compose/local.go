package compose

import "github.com/toskose/toskose/packager"

// HostVariable is the variable that gives Compose the name of the engine's host.
const HostVariable = "TOSKOSE_HOST"

// Local returns docker-compose.local.yml, which overrides what a single engine
// has in another way: there are no services to have labels, so containers do.
func Local(plan *packager.Plan) ([]byte, error) {
	f := file{
		Version: "3.7", Services: map[string]service{},
		Networks: map[string]net{network: {Driver: "bridge"}},
	}
	names := serviceNames(plan)
	for _, s := range plan.Services {
		local := service{Restart: restartOf(s.Deploy.RestartPolicy), Labels: texts(s.Deploy.Labels)}
		if s.IsManager {
			local.Environment = map[string]value{discovery: text("alias")}
			local.Security = []string{"no-new-privileges:true"} // a Swarm knows no such option
		}
		if s.IsToskosed {
			local.Environment = map[string]value{labelHost: reference(HostVariable)}
		}
		f.Services[names[s.Name]] = local
	}
	return encode(f)
}
