// Writes docs/reference/configuration.md from the schemas and manifests of the service and of the plugins; with --print to standard output,
// and there without the packages that --without a,b names.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { configDocs } from '../src/config-docs.ts'
import { readSection } from '../src/find-sections.ts'

const packages = new URL('../../', import.meta.url)
const foldersIn = (folder) =>
  readdirSync(folder)
    .sort()
    .map((name) => new URL(`${name}/`, folder))
    .filter((url) => existsSync(new URL('package.json', url)))
const without = new Set((process.argv[process.argv.indexOf('--without') + 1] ?? '').split(','))
const build = foldersIn(packages).filter((url) => !without.has(basename(url.pathname)))
const sectionsOf = (folders, origin) =>
  folders
    .map(({ pathname }) => readSection(pathname, origin))
    .filter((section) => typeof section === 'object')
const manifests = build.flatMap(
  (folder) => JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')).steeple ?? [],
)
const packageOf = new Map(
  build.flatMap((folder) => {
    const { steeple } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
    return steeple === undefined || steeple.essential === true
      ? []
      : [[steeple.id, basename(folder.pathname)]]
  }),
)
/** Behind each row of a plugin that a build may lack; a build's own document is without. */
const markOf = (plugin) =>
  process.argv.includes('--without') || !packageOf.has(plugin)
    ? ''
    : ` <!-- package: ${packageOf.get(plugin)} -->`
const rows = (what, row) =>
  manifests
    .flatMap((one) =>
      Object.entries(one[what] ?? {}).map((entry) => `${row(entry, one.id)}${markOf(one.id)}`),
    )
    .join('\n')

const text = `${configDocs(sectionsOf(build, 'build'), markOf)}
## Metrics that plugins declare

Alert rules may name these metrics, and those of installed plugins.

| Metric | Plugin | Meaning |
|---|---|---|
${rows('metrics', ([name, help], id) => `| \`${name}\` | ${id} | ${help} |`)}

## Paths of plugins

Routes under these paths answer 404 \`feature_not_installed\` when the plugin is absent.

| Path | Plugin | Group in the documentation |
|---|---|---|
${rows('paths', ([prefix, { group = '' }], id) => `| \`${prefix}\` | ${id} | ${group} |`)}
`
if (process.argv.includes('--print')) process.stdout.write(text)
else writeFileSync(new URL('../../../docs/reference/configuration.md', import.meta.url), text)
