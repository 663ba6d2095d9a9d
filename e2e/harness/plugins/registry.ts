import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { basename, dirname, join, sep } from 'node:path'
import { text } from 'node:stream/consumers'
import { listen } from '@steeple/testkit'
import { ROOT } from '../launch.ts'

/** A registry on this machine with what our packages need, made of what this workspace has installed. What is published has it, too. */
export interface Registry {
  /** Has npm ask it and nobody else. */
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void>
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Held {
  readonly manifest: Manifest
  readonly tarball: Buffer
}

/** Of each our packages that others install: what it asks a registry for. */
const ASKED = {
  'plugin-kit': ['@types/node', 'esbuild', 'typescript'],
  testkit: ['uvu'],
} as const

/** Starts it; the archives lie in `folder`. Of another checkout than this one, its workspace counts. */
export async function startRegistry(folder: string, root: string = ROOT): Promise<Registry> {
  mkdirSync(folder, { recursive: true })
  const held = new Map<string, Held>()
  // Releases up to 0.2 have all packages in one folder.
  const group = existsSync(join(root, 'testing')) ? 'testing' : 'packages'
  for (const [of, names] of Object.entries(ASKED))
    for (const name of names) hold(name, join(root, group, of, 'package.json'), folder, held)
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://registry').pathname).slice(1)
    const isFile = path.endsWith('.tgz')
    if (request.method === 'PUT') {
      void publish(request, held).then(() => response.writeHead(201).end('{}'))
      return
    }
    const found = held.get(isFile ? dirname(dirname(path)) : path)
    if (found === undefined) response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
    else if (isFile) response.end(found.tarball)
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(documentOf(found, url)))
  })
  const { url: origin, close } = await listen(server)
  const url = `${origin}/`
  // Whoever publishes is asked for a token, which nobody looks at.
  const npmrc = join(folder, 'npmrc')
  writeFileSync(npmrc, `${url.replace('http:', '')}:_authToken=anybody\n`)
  return {
    env: {
      npm_config_registry: url,
      npm_config_userconfig: npmrc,
      npm_config_cache: join(folder, 'npm-cache'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    },
    close,
  }
}

/** What npm sends: the manifest of one version, and its archive. */
interface Publication {
  readonly versions: Readonly<Record<string, Manifest>>
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>
}

async function publish(request: IncomingMessage, held: Map<string, Held>): Promise<void> {
  const publication: Publication = JSON.parse(await text(request))
  const [manifest] = Object.values(publication.versions)
  const [archive] = Object.values(publication._attachments)
  if (manifest === undefined || archive === undefined) throw new Error('npm has published nothing')
  held.set(manifest.name, { manifest, tarball: Buffer.from(archive.data, 'base64') })
}

/** A package and what it needs, as Node finds them from the one that asks. */
function hold(name: string, asker: string, folder: string, held: Map<string, Held>): void {
  if (held.has(name)) return
  const dir = folderOf(name, asker)
  // Programs for other machines are not installed.
  if (dir === undefined) return
  const file = join(dir, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest
  const archive = join(folder, `${name.replace('/', '-')}.tgz`)
  execFileSync('tar', [
    `--transform=s,^${basename(dir)},package,`,
    '--exclude=node_modules',
    '-cf',
    archive,
    '-C',
    dirname(dir),
    basename(dir),
  ])
  held.set(name, { manifest, tarball: readFileSync(archive) })
  for (const need of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    hold(need, file, folder, held)
}

/** The folder of a package; one that has only types has no entry to find it by. */
function folderOf(name: string, asker: string): string | undefined {
  const places = createRequire(realpathSync(asker)).resolve.paths(name) ?? []
  for (const place of places) {
    try {
      const dir = realpathSync(join(place, ...name.split('/')))
      if (dir.includes(sep)) return dir
    } catch {
      // Not here.
    }
  }
  return undefined
}

function documentOf({ manifest, tarball }: Held, url: string): object {
  const { name, version } = manifest
  const dist = {
    tarball: `${url}${name}/-/${version}.tgz`,
    integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
  }
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }
}
