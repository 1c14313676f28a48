package observe

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// AuthorityDigest returns the SHA-256 digest of the certificate authority by which kubectl verifies the cluster, as tokens of k3s have
// it. The cluster has to answer, which shows that the authority is the cluster's.
func (c Cluster) AuthorityDigest(ctx context.Context) (string, error) {
	on, err := c.Reach(ctx)
	if err != nil {
		return "", err
	}
	out, err := on.Kubectl.Output(ctx, "config", "view", "--minify", "--raw", "--output", "json")
	if err != nil {
		return "", err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Data string `json:"certificate-authority-data"`
				File string `json:"certificate-authority"`
				Skip bool   `json:"insecure-skip-tls-verify"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := json.Unmarshal(out, &config); err != nil || len(config.Clusters) != 1 {
		return "", fmt.Errorf("cannot decode the configuration of kubectl: %w", errors.Join(err))
	}
	cluster := config.Clusters[0].Cluster
	var authority []byte
	switch {
	case cluster.Skip:
		return "", errors.New("kubectl does not verify this cluster (insecure-skip-tls-verify), so its certificate authority is not known")
	case cluster.Data != "":
		authority, err = base64.StdEncoding.DecodeString(cluster.Data)
	case cluster.File != "":
		authority, err = os.ReadFile(cluster.File)
	default:
		return "", errors.New("the configuration of kubectl has no certificate authority of the cluster")
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the certificate authority of the cluster: %w", err)
	}
	sum := sha256.Sum256(authority)
	return hex.EncodeToString(sum[:]), nil
}
