package backend

import (
	"testing"
)

func TestASwarmThatLacksSecretsIsToldHowTheyAreMade(t *testing.T) {
	t.Parallel()
	have := []string{"shop_manager-password", "other_backend-password"}
	const command = "docker secret create %s FILE"
	err := MissingSecrets("swarm", []string{"shop_backend-password", "shop_manager-password", "shop_api.key"}, have, command)
	want := "the swarm lacks 2 of the 3 external secrets; create them:\n" +
		"    docker secret create shop_backend-password FILE\n    docker secret create shop_api.key FILE"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	if err := MissingSecrets("swarm", []string{"shop_manager-password"}, have, command); err != nil {
		t.Error(err)
	}
}
