package compose

// The labels that Docker's own commands give to what they make.
const (
	LabelProject = "com.docker.compose.project"             // by Compose: the application
	LabelService = "com.docker.compose.service"             // by Compose, of a container
	LabelFolder  = "com.docker.compose.project.working_dir" // by Compose, of a container: where it was started from

	LabelStack        = "com.docker.stack.namespace"    // by Swarm: the application
	LabelSwarmService = "com.docker.swarm.service.name" // by Swarm, of a container: with the application's name before it
)
