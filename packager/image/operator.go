package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/layer"
)

var operatorBinary = binary{"toskose-operator", "/toskose/operator/toskose-operator", "--image", packager.ManagerUser}

// OperatorImage returns the name of the operator's image of a version.
func OperatorImage(version string) string { return operatorBinary.name + ":" + Tag(version) }

// BuildOperator builds the image of the operator from the local binary, names it ref on the engine, and pushes it if the options
// request that.
func (b *Builder) BuildOperator(ctx context.Context, ref string) (err error) {
	defer func() { b.settle(ctx, err) }()
	b.temp = &layer.Temp{In: b.opts.Temp}
	defer b.temp.Remove()
	b.engine.Keychain = docker.WithPasswords(b.opts.Keychain, nil)
	arch, err := b.engineArchitecture(ctx)
	if err != nil {
		return fmt.Errorf("cannot reach the Docker engine: %w", err)
	}
	platform := v1.Platform{OS: "linux", Architecture: arch}
	file, looked, err := FindBinary(b.opts.Binaries, operatorBinary.name, arch)
	if err != nil {
		return err
	}
	if file == "" {
		return fmt.Errorf("cannot find %q for %s: looked for %s; to get it, unpack a release archive of toskose, which has it beside toskose, "+
			"or run `make install ARCHS=%s` in the source of toskose", operatorBinary.name, platform, strings.Join(looked, ", "), arch)
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("cannot read the binary: %w", err)
	}
	t := layer.NewTree([]layer.Entry{{
		Name: strings.TrimPrefix(operatorBinary.path, "/"), Mode: 0o755, Size: info.Size(),
		Open: func() (io.ReadCloser, error) { return os.Open(file) },
	}})
	if err := b.storeBinary(ctx, operatorBinary, ref, file, t, platform); err != nil || !b.opts.Push {
		return err
	}
	return b.engine.Push(ctx, ref)
}
