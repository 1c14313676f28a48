#!/usr/bin/env bash
# install.sh BIN PREFIX ARCHS: installs the binaries that `make build` wrote to BIN, with units, managers and operators for
# the architectures ARCHS. If the toskose in BIN does not run on this machine, COMPLETIONS is one that does.
set -euo pipefail
bin=$1 prefix=$2 archs=$3
toskose=$(realpath "${COMPLETIONS:-$bin/toskose}")

umask 022
install -d "$prefix/bin" "$prefix/lib/toskose" \
	"$prefix/share/bash-completion/completions" "$prefix/share/zsh/vendor-completions" "$prefix/share/fish/vendor_completions.d"
install -m 755 "$bin/toskose" "$prefix/bin/"
for arch in $archs; do
	install -m 755 "$bin"/toskose-{unit,manager,operator}-linux-"$arch" "$prefix/lib/toskose/"
done
"$toskose" completion bash >"$prefix/share/bash-completion/completions/toskose"
"$toskose" completion zsh >"$prefix/share/zsh/vendor-completions/_toskose"
"$toskose" completion fish >"$prefix/share/fish/vendor_completions.d/toskose.fish"
install -d "$prefix/share/man/man1"
"$toskose" man "$prefix/share/man/man1"
