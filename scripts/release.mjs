// Makes a release of what the changesets say. Two steps, with a person between them:
//   node scripts/release.mjs draft    the next version and what the changesets say, grouped, at the top of CHANGELOG.md
//   node scripts/release.mjs make     once that has become notes: versions of all packages, changesets used up
//   node scripts/release.mjs check    whether each changeset names packages that there are; a part of npm run check
// CONTRIBUTING.md has what belongs to the commit of a release.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv, stderr, stdout } from 'node:process'
import { draftOf, readChangeset } from './releases/draft.mjs'
import { root, workspaceFolders } from './workspace.mjs'

const changelog = join(root, 'CHANGELOG.md')
/** Stands in a section until a person has made notes of it. */
const DRAFT = '(draft)'
const TITLE = '# Changelog\n'

try {
  const steps = { draft, make, check }
  const step = steps[argv[2]]
  if (step === undefined) throw new Error('release.mjs draft, then release.mjs make; or release.mjs check')
  step()
} catch (error) {
  stderr.write(`steeple: ${error.message}\n`)
  process.exit(2)
}

function draft() {
  const text = existsSync(changelog) ? readFileSync(changelog, 'utf8') : TITLE
  if (text.includes(DRAFT))
    throw new Error('CHANGELOG.md has a draft already; make notes of it, or remove it')
  const { version, changesets } = planned()
  const section = `\n## ${version} ${DRAFT}\n\n${draftOf(changesets)}`
  writeFileSync(
    changelog,
    text.replace(TITLE, () => TITLE + section),
  )
  stdout.write(`${version}, of ${changesets.length} changesets: make notes of its section in CHANGELOG.md\n`)
}

function make() {
  const { version } = planned()
  const [, newest] = /^## (.+)$/m.exec(readFileSync(changelog, 'utf8')) ?? []
  if (newest !== version)
    throw new Error(`CHANGELOG.md begins with ${newest ?? 'nothing'}, and not with notes of ${version}`)
  changesets('version')
  for (const file of manifests()) {
    const text = readFileSync(file, 'utf8')
    // Plugins of the build are made for the contracts that they are released with.
    const ours = text.replace(/("contracts": )"\^\d+\.\d+\.\d+"/, `$1"^${version}"`)
    if (ours !== text) writeFileSync(file, ours)
  }
  stdout.write(`${version}: see CONTRIBUTING.md for what else belongs to its commit\n`)
}

/** One that names another package would stop the next release. */
function check() {
  const known = manifests().map((file) => JSON.parse(readFileSync(file, 'utf8')).name)
  const folder = join(root, '.changeset')
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md')) {
    const { packages, text } = readChangeset(readFileSync(join(folder, file), 'utf8'))
    const strange = packages.filter((name) => !known.includes(`@steeple/${name}`))
    if (packages.length === 0 || strange.length > 0 || text === '')
      throw new Error(
        `.changeset/${file} names ${strange.join(', ') || 'no package of ours, or says nothing'}`,
      )
  }
}

/** The version that comes next, and the changesets that it is made of, as they are read. */
function planned() {
  const file = join(root, 'node_modules/.cache/release-plan.json')
  changesets('status', '--output', 'node_modules/.cache/release-plan.json')
  const { changesets: found, releases } = JSON.parse(readFileSync(file, 'utf8'))
  const version = releases.find(({ name }) => name === '@steeple/cli')?.newVersion
  if (version === undefined || found.length === 0) throw new Error('there is no changeset to release')
  const texts = found.map(({ id }) => readFileSync(join(root, '.changeset', `${id}.md`), 'utf8'))
  return { version, changesets: texts.map(readChangeset) }
}

function changesets(...args) {
  const { status } = spawnSync(join(root, 'node_modules/.bin/changeset'), args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error(`changeset ${args[0]} failed`)
}

function manifests() {
  return workspaceFolders().map((folder) => join(root, folder, 'package.json'))
}
