// Reads the texts that people read and names the words and sentences that CONTRIBUTING.md (Words) rules out: node tools/prose/check.mjs
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TextlintKernelDescriptor } from '@textlint/kernel'
import markdown from '@textlint/textlint-plugin-markdown'
import { createLinter } from 'textlint'
import sentenceLength from 'textlint-rule-sentence-length'
import terminology from 'textlint-rule-terminology'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
/** Pages that were not edited yet. A page leaves this list when it is, and none joins it. */
const OPEN = new Set(readFileSync(join(root, 'tools/prose/open.txt'), 'utf8').split('\n'))
/** A sentence beyond it holds more than one thought. */
const CHARACTERS = 200
/** An error says what is wrong and what to do in no more. */
const ERROR_WORDS = 25

const rule = (ruleId, module, options) => ({ ruleId, rule: module.default ?? module, options })
const terms = JSON.parse(readFileSync(join(root, 'tools/prose/words.json'), 'utf8'))
const linter = createLinter({
  descriptor: new TextlintKernelDescriptor({
    plugins: [{ pluginId: 'markdown', plugin: markdown.default ?? markdown, options: true }],
    filterRules: [],
    rules: [
      rule('terminology', terminology, { defaultTerms: false, terms }),
      rule('sentence-length', sentenceLength, { max: CHARACTERS }),
    ],
  }),
})

const files = execFileSync(
  'git',
  ['ls-files', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/*.md', '*/README.md', '*/texts/en.json'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .trim()
  .split('\n')
  .filter((file) => !OPEN.has(file))
let found = 0
for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8')
  for (const { line, message } of await problemsOf(file, text)) {
    found += 1
    process.stderr.write(`${relative(process.cwd(), join(root, file))}:${line} ${message}\n`)
  }
}
for (const { file, message } of longErrors()) {
  found += 1
  process.stderr.write(`${file} an error has more than ${ERROR_WORDS} words: ${message}\n`)
}
process.stdout.write(`${files.length} texts read, ${OPEN.size - 1} not edited yet\n`)
process.exitCode = found > 0 ? 1 : 0

async function problemsOf(file, text) {
  // Of JSON the values are text, each on its line.
  const read = file.endsWith('.json') ? text.replaceAll(/^\s*("[^"]*":)?\s*"?|"?,?$/gm, '') : text
  const { messages } = await linter.lintText(
    read.replaceAll(/^(\|.*\|)( <!--.*-->)?$/gm, (_, row) =>
      row.replaceAll(/(?<=\S) *\| */g, '. ').replaceAll('|', ''),
    ),
    'text.md',
  )
  return messages
}

/** Errors of the source as it writes them, with the text of their code around; a value counts as one word. */
function longErrors() {
  const sources = execFileSync('git', ['ls-files', 'packages/*/src/*.ts'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
  const literal = String.raw`(?:'(?:[^'\\\n]|\\.)*'|\x60(?:[^\x60\\]|\\.)*\x60)`
  const literals = String.raw`(${literal}(?:\s*\+\s*${literal})*)`
  const defined = new RegExp(
    String.raw`const (\w+): ErrorFactory = defineError\([^,]+,[^,]+,\s*${literals}`,
    'g',
  )
  const templates = new Map(
    sources.flatMap(({ text }) => [...text.matchAll(defined)].map(([, name, words]) => [name, read(words)])),
  )
  const thrown = new RegExp(String.raw`\b(${[...templates.keys()].join('|')})\(\s*${literals}`, 'g')
  return sources.flatMap(({ file, text }) =>
    [
      ...[...text.matchAll(defined)].map(([, , words]) => read(words)),
      ...[...text.matchAll(thrown)].map(([, name, words]) =>
        templates.get(name).replace('%s', () => read(words)),
      ),
    ]
      .filter((message) => message.split(/\s+/).length > ERROR_WORDS)
      .map((message) => ({ file, message })),
  )
}

function read(literals) {
  return literals
    .replaceAll(/['\x60]\s*\+\s*['\x60]/g, '')
    .slice(1, -1)
    .replaceAll(/\$\{[^}]*\}/g, '…')
}
