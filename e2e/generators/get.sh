#!/usr/bin/env bash
# Puts programs of others that read OpenAPI documents into a cache folder: spectral and openapi-typescript (npm),
# openapi-python-client (PyPI), openapi-generator (Maven Central).
# Usage: get.sh [folder]. Does nothing when they are there. Needs python3 with pip, java, mvn, and the pnpm of this checkout.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
target=$cache/openapi-programs-2
tools=$(cd "$(dirname "$0")/../../tools" && pwd)/node_modules
generator=7.16.0

mkdir -p "$cache"
exec 9>"$cache/openapi-programs.lock"
flock 9
[ ! -f "$target/ready" ] || exit 0
rm -rf "$target"
mkdir -p "$target/npm"
echo '{"private":true}' >"$target/npm/package.json"
"$tools"/@pnpm/exe.*/pnpm add --dir "$target/npm" --ignore-scripts --config.node-linker=hoisted --reporter=silent \
  @stoplight/spectral-cli@6.16.3 openapi-typescript@7.13.0 typescript@5.9.3
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$target/python" --no-warn-conflicts openapi-python-client==0.29.1
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
  -Dartifact=org.openapitools:openapi-generator-cli:$generator:jar -DoutputDirectory="$target"
mv "$target/openapi-generator-cli-$generator.jar" "$target/openapi-generator.jar"
touch "$target/ready"
