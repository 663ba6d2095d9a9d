// What a program of C and C++ needs to start: the loader and the libraries of Debian, for any architecture, without an image of
// somebody's. Fetched by apt under a configuration of its own, which checks Debian's signatures; nothing of the machine's is read or changed.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../workspace.mjs'

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6']
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const MIRROR = process.env.STEEPLE_DEBIAN_MIRROR ?? 'http://deb.debian.org'
/** Of all that is in the packages: what programs load, and what resolves names. */
const LOADED =
  /^(ld-linux.*\.so\.\d|lib(c|m|dl|pthread|rt|resolv|gcc_s|stdc\+\+|nss_(files|dns))\.so\.\d+(\.[\d.]+)?)$/

/**
 * `{folder, packages}` for an architecture: a root with the libraries in it, and `{name, version}` of the packages that they are of.
 * They are fetched once a day and kept, so that two builds have the same.
 */
export function baseLibraries(arch) {
  const day = new Date().toISOString().slice(0, 10)
  const target = join(root, 'node_modules/.cache/steeple', `base-${arch}-${day}`)
  if (!existsSync(target)) fetchInto(target, ARCHITECTURES[arch])
  const packages = readdirSync(join(target, 'debs'))
    .sort()
    .map((file) => /^(.+)_(.+)_[^_]+\.deb$/.exec(file))
    .map(([, name, version]) => ({ name, version: decodeURIComponent(version) }))
  return { folder: join(target, 'root'), packages }
}

function fetchInto(target, architecture) {
  if (!existsSync(KEYRING)) throw new Error(`an image is made with Debian's apt: there is no ${KEYRING}`)
  const work = `${target}.${process.pid}`
  rmSync(work, { recursive: true, force: true })
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'debs', 'all', 'root'])
    mkdirSync(join(work, folder), { recursive: true })
  const apt = join(work, 'apt.conf')
  writeFileSync(join(work, 'status'), '')
  writeFileSync(
    join(work, 'sources.list'),
    [`${MIRROR}/debian bookworm main`, `${MIRROR}/debian-security bookworm-security main`]
      .map((source) => `deb [signed-by=${KEYRING}] ${source}\n`)
      .join(''),
  )
  writeFileSync(
    apt,
    `Dir::State "${work}/state"; Dir::State::status "${work}/status"; Dir::Cache "${work}/cache";
Dir::Etc::sourcelist "${work}/sources.list"; Dir::Etc::sourceparts "-"; Dir::Etc::parts "-"; Dir::Etc::main "-";
APT::Architecture "${architecture}"; APT::Architectures {"${architecture}";}; APT::Sandbox::User "";
Acquire::IndexTargets::deb::DEP-11 "false"; Acquire::Languages "none";
`,
  )
  run('apt-get', ['-qq', 'update'], { cwd: work, apt })
  run('apt-get', ['-qq', 'download', ...PACKAGES], { cwd: join(work, 'debs'), apt })
  for (const file of readdirSync(join(work, 'debs')))
    run('dpkg-deb', ['-x', join(work, 'debs', file), join(work, 'all')], { cwd: work, apt })
  takeLibraries(join(work, 'all'), join(work, 'root'))
  for (const folder of ['state', 'cache', 'all']) rmSync(join(work, folder), { recursive: true })
  mkdirSync(dirname(target), { recursive: true })
  if (existsSync(target)) rmSync(work, { recursive: true })
  else renameSync(work, target)
}

function takeLibraries(all, target) {
  for (const entry of readdirSync(all, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const isLicense = path.startsWith(join(all, 'usr/share/doc')) && entry.name === 'copyright'
    if (entry.isDirectory() || !(LOADED.test(entry.name) || isLicense)) continue
    const to = join(target, path.slice(all.length + 1))
    mkdirSync(dirname(to), { recursive: true })
    cpSync(path, to, { verbatimSymlinks: true })
  }
}

function run(program, args, { cwd, apt }) {
  const { status, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, APT_CONFIG: apt, ...proxies() },
  })
  if (error !== undefined || status !== 0)
    throw new Error(`${program} ${args[1] ?? ''}: ${error?.message ?? stderr}`)
}

function proxies() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => /^https?_proxy$/i.test(name)))
}
