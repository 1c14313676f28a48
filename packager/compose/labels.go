package compose

// The labels that Docker's own commands set.
const (
	LabelProject = "com.docker.compose.project"             // by Compose: the application
	LabelService = "com.docker.compose.service"             // by Compose, on containers
	LabelFolder  = "com.docker.compose.project.working_dir" // by Compose, on containers: the folder that the project was started from

	LabelStack        = "com.docker.stack.namespace"    // by Swarm: the application
	LabelSwarmService = "com.docker.swarm.service.name" // by Swarm, on containers: APPLICATION_SERVICE
)
