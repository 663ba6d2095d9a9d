// An OCI image of a build, as one file (an archive of an image layout): the loader and libraries that Node needs, the build, one user who
// is nobody, and no shell. Written here and not by a builder: the format is three JSON files and two archives, which are then the
// same twice and need no root, no daemon and no registry. https://github.com/opencontainers/image-spec v1.1
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { baseLibraries } from './base-libraries.mjs'
import { put, settle } from './files.mjs'
import { packTar } from './tar.mjs'

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }
/** As distroless images have it. */
const USER = 65_532
const HOME = '/var/lib/svc'
const CODE = '/usr/lib/steeple'
const MAIN = `${CODE}/lib/node_modules/@steeple/cli/dist/main.js`
/** Whether the service answers at all: a listener with TLS ends such a connection, one that hangs leaves it open. */
const HEALTH = `const port = (process.env.SVC_SERVER_LISTEN ?? '').split(':').at(-1) || 8080
const end = (code) => () => process.exit(code)
const socket = require('net').connect(port, '127.0.0.1', () => socket.write('GET /v1/healthz HTTP/1.0\\r\\n\\r\\n'))
socket.on('data', end(0)).on('end', end(0)).on('error', end(1))
setTimeout(end(1), 5000)`
const TYPES = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
}

/** Writes the image into `out`; gives its file. `work` is an empty folder. */
export function makeImage({ from, out, work, build, level }) {
  const layout = join(work, 'layout')
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
  const { folder: libraries, packages } = baseLibraries(build.arch)
  const layers = [
    layerOf({ layout, work, build, level, parts: ['etc', 'lib', 'tmp', 'usr'] }, (tree) => {
      cpSync(libraries, tree, { recursive: true, verbatimSymlinks: true })
      put(tree, 'etc/passwd', `root:x:0:0:root:/:/none\nsteeple:x:${USER}:${USER}:steeple:${HOME}:/none\n`)
      put(tree, 'etc/group', `root:x:0:\nsteeple:x:${USER}:\n`)
      put(tree, 'etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')
      mkdirSync(join(tree, 'tmp'))
      return { tmp: 0o1777 }
    }),
    layerOf({ layout, work, build, level, parts: ['usr'] }, (tree) => {
      mkdirSync(join(tree, 'usr/lib'), { recursive: true })
      cpSync(from, join(tree, CODE), { recursive: true })
      // For podman exec; the service is started by the entry point, with its flags.
      put(tree, 'usr/bin/svc', `#!${CODE}/bin/node\nimport('${MAIN}')\n`, 0o755)
      return {}
    }),
    layerOf({ layout, work, build, level, parts: [HOME.slice(1)], owner: USER }, (tree) => {
      mkdirSync(join(tree, HOME), { recursive: true })
      return { [HOME.slice(1)]: 0o700 }
    }),
  ]
  const config = blobOf(layout, JSON.stringify(configOf(build, flagsOf(from), layers, packages)))
  const manifest = blobOf(
    layout,
    JSON.stringify({
      schemaVersion: 2,
      mediaType: TYPES.manifest,
      config: { mediaType: TYPES.config, ...config },
      layers: layers.map(({ digest, size }) => ({ mediaType: TYPES.layer, digest, size })),
    }),
  )
  const annotations = { 'org.opencontainers.image.ref.name': `localhost/steeple:${build.version}` }
  put(layout, 'oci-layout', '{"imageLayoutVersion":"1.0.0"}')
  put(
    layout,
    'index.json',
    JSON.stringify({
      schemaVersion: 2,
      manifests: [{ mediaType: TYPES.manifest, ...manifest, annotations }],
    }),
  )
  const file = join(out, `steeple-${build.version}-${ARCHITECTURES[build.arch]}.oci.tar`)
  packTar({ folder: layout, parts: ['blobs', 'index.json', 'oci-layout'], file, epoch: build.epoch })
  return file
}

/** One archive of what `fill` puts into an empty folder; `parts` of it are in the layer. It gives what has a mode of its own. */
function layerOf({ layout, work, build, level, parts, owner = 0 }, fill) {
  const tree = mkdtempSync(join(work, 'layer-'))
  const modes = fill(tree)
  settle(tree, build.epoch)
  for (const [path, mode] of Object.entries(modes)) chmodSync(join(tree, path), mode)
  const present = parts.filter((part) => existsSync(join(tree, part)))
  // The loader has a name of its own on each machine: /lib64 on one, in /lib on the other.
  if (existsSync(join(tree, 'lib64'))) present.push('lib64')
  const file = join(work, 'layer.tar')
  packTar({ folder: tree, parts: present, file, epoch: build.epoch, owner })
  const plain = readFileSync(file)
  const diffId = `sha256:${sha256(plain)}`
  rmSync(tree, { recursive: true })
  return { diffId, ...blobOf(layout, gzipSync(plain, { level })) }
}

/** Puts a blob into the layout: its digest and size. */
function blobOf(layout, content) {
  const hash = sha256(content)
  writeFileSync(join(layout, 'blobs/sha256', hash), content)
  return { digest: `sha256:${hash}`, size: Buffer.byteLength(content) }
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex')
}

/** Node's flags, which the first line of the command has for a system with a shell. */
function flagsOf(from) {
  const [first] = readFileSync(join(from, 'bin/svc'), 'utf8').match(/exec .*$/m) ?? []
  return first?.match(/--[a-z-]+=\S+/g) ?? []
}

function configOf({ version, commit, date, arch, node }, flags, layers, packages) {
  return {
    created: date,
    architecture: ARCHITECTURES[arch],
    os: 'linux',
    config: {
      User: `${USER}:${USER}`,
      Env: ['PATH=/usr/bin', `HOME=${HOME}`],
      Entrypoint: [`${CODE}/bin/node`, ...flags, MAIN],
      Cmd: ['--first-start'],
      WorkingDir: HOME,
      Volumes: { [HOME]: {} },
      ExposedPorts: { '8080/tcp': {} },
      StopSignal: 'SIGTERM',
      // Of Docker's own format; podman asks for it on its command line (docs/packages.md).
      Healthcheck: {
        Test: ['CMD', `${CODE}/bin/node`, '-e', HEALTH],
        Interval: 30e9,
        Timeout: 10e9,
        StartPeriod: 60e9,
        Retries: 3,
      },
      Labels: {
        'org.opencontainers.image.title': 'Steeple',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.revision': commit,
        'org.opencontainers.image.created': date,
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'steeple.node': node,
        'steeple.base': packages.map(({ name, version: of }) => `${name}=${of}`).join(' '),
      },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created: date, created_by: 'npm run pack -- oci' })),
  }
}
