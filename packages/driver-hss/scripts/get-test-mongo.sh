#!/usr/bin/env bash
# Puts what the tests of this package run against into a cache folder: a MongoDB-compatible server (Java) and mongosh.
# Usage: get-test-mongo.sh [folder]. Does nothing when both are there. Needs java 17, mvn, npm;
# with the pnpm of this checkout, where that has been fetched, mongosh takes a quarter of the time.
set -euo pipefail
cache=${1:-$HOME/.cache/steeple-test}
server_version=1.47.0
mongosh_version=2.12.0
server=$cache/mongo-java-server-$server_version
shell=$cache/mongosh-$mongosh_version
source=$(dirname "$0")/../test/support/TestMongo.java
tools=$(cd "$(dirname "$0")/../../../tools" && pwd)/node_modules

if [ ! -f "$server/ready" ]; then
  rm -rf "$server"
  mkdir -p "$server"
  cat >"$server/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>steeple</groupId>
  <artifactId>test-mongo</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>de.bwaldvogel</groupId>
      <artifactId>mongo-java-server</artifactId>
      <version>$server_version</version>
    </dependency>
  </dependencies>
</project>
POM
  mvn -q -B -f "$server/pom.xml" dependency:copy-dependencies -DoutputDirectory="$server/lib" -DincludeScope=runtime
  touch "$server/ready"
fi

# Its few lines of ours are compiled here and not at each start. A JRE has the compiler, without the command.
if [ ! "$server/classes/TestMongo.class" -nt "$source" ]; then
  java -m jdk.compiler/com.sun.tools.javac.Main -cp "$(printf '%s:' "$server"/lib/*.jar)" -d "$server/classes" "$source"
fi

if [ ! -f "$shell/ready" ]; then
  rm -rf "$shell"
  mkdir -p "$shell"
  echo '{"private":true}' >"$shell/package.json"
  # Its stamp comes when all of it is there.
  if [ -f "$tools/.stamp" ]; then
    "$tools"/@pnpm/exe.*/pnpm add --dir "$shell" --ignore-scripts --no-optional --config.node-linker=hoisted --reporter=silent "mongosh@$mongosh_version"
  else
    npm install --prefix "$shell" --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error "mongosh@$mongosh_version"
  fi
  touch "$shell/ready"
fi
echo "$cache"
