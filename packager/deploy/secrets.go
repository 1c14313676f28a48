package deploy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/output"
)

// CheckSecretsOf returns an error if an application cannot take over the secrets of a folder.
func CheckSecretsOf(dir, app string) error {
	info, _, err := backend.ReadInfo(dir)
	switch {
	case err != nil:
		return err
	case info.App != app:
		return fmt.Errorf("%q has the secrets of application %q, and this is %q", dir, info.App, app)
	case len(info.External) > 0:
		return fmt.Errorf("%q has no secrets: they are external (--secrets external)", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, output.SecretsDir, packager.SecretNamesFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q has no secrets any more: there is no %s", dir, filepath.Join(output.SecretsDir, packager.SecretNamesFile))
	}
	return nil
}

// sharedSecrets returns the secrets that the manager and units share. The other secrets come from toskose.yml and the topology's inputs,
// or, for users of the manager, change at run time.
func sharedSecrets(info output.Info) []string {
	all := []string{packager.ManagerPassword, packager.ManagerSecretKey, packager.TLSAuthority}
	for _, node := range info.Nodes {
		all = append(all, packager.UnitPassword(node))
	}
	return all
}

// checkSecrets returns an error if the folder's secrets differ from the secrets of the running application.
func (d *deployer) checkSecrets(ctx context.Context) error {
	if !d.existing.Running || d.opts.NewSecrets || len(d.Info.External) > 0 {
		return nil
	}
	ours, err := output.Suffixes(d.Dir)
	if errors.Is(err, fs.ErrNotExist) { // secrets were created manually
		return nil
	}
	if err != nil {
		return err
	}
	running, err := d.secrets.Secrets(ctx)
	if err != nil {
		return err
	}
	var differ []string
	for _, name := range sharedSecrets(d.Info) {
		if theirs := running[name]; ours[name] != "" && len(theirs) > 0 && !slices.Contains(theirs, ours[name]) {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	from := "the folder it was deployed from"
	if now, ok := d.Log.Current(); ok {
		from = now.Folder
	}
	return fmt.Errorf("its secrets differ from the secrets of the running application (%s): package it with --from %s, which takes them over; "+
		"or deploy it with --new-secrets, which invalidates the tokens and passwords that people have, and replaces all containers of a Swarm", strings.Join(differ, ", "), from)
}
