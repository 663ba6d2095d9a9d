import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import {
  type Block,
  type Command,
  type DocumentShell,
  documentedBlocks,
  openDocumentShell,
  otherBlocks,
} from '../harness/documented/commands.ts'
import { EXCEPTIONS, MAY_SAY_NO } from '../harness/documented/exceptions.ts'
import { type LabProcess, startLabCore } from '../harness/lab-core.ts'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../harness/webhook-receiver.ts'

/** Keys of shown JSON that are other here: no radio is beside this service. */
const NOT_COMPARED: readonly string[] = ['transmitter']

/** The configuration under which all pages are tried: what they say to turn on. `hook` is where alerts go. */
function configOf(hook: string, secretFile: string): string {
  return `
server: {country: DE}
alerts:
  enabled: true
  webhooks:
    - {name: ops, url: "${hook}", secret_file: ${secretFile}, allow_private: true}
  rules:
    - {name: trial, metric: process_resident_memory_bytes, op: ">", threshold: 1, for: 1s, severity: info}
esim: {enabled: true, smdp_address: smdp.example.org}
fairuse: {enabled: true}
ran:
  profiles:
    lab-b3: {technology: lte, channel: 1300, bandwidth_mhz: 10, eirp_dbm: 20}
`
}

/** What stands in the documentation for something that only a running box has, and where that comes from. */
function replacements(service: Service, cwd: string): readonly (readonly [RegExp, () => Promise<string>])[] {
  const issue = async (): Promise<{ readonly hash: string; readonly batch: string }> => {
    const { status, body } = await service.request('POST', '/v1/sims', { body: {} })
    if (status !== 201) throw new Error(`no SIM: ${status}`)
    return { hash: body.sims[0].imsi_sha256_12, batch: body.batch_id }
  }
  return [
    [/http:\/\/127\.0\.0\.1:8080/g, async () => service.url],
    [/svc_…/g, async () => service.adminToken],
    [/\/etc\/svc/g, async () => etcOf(cwd)],
    [/\b5c1b940e9d29\b|\bHASH\b/g, async () => (await issue()).hash],
    [/\bb-2026112\d-(…|[a-z0-9]+)/g, async () => (await issue()).batch],
    [/\be-0123…/g, () => codeOf(service)],
    [/\ba-0123456789abcdef\b/g, () => alertOf(service)],
    [/&cursor=…/g, async () => ''],
    [/\bFILE\b/g, async () => readdirSync(cwd).find((name) => name.includes('backup')) ?? 'no backup'],
    [/\bPID\b/g, async () => String(service.child.pid)],
    [/(?<=--trust )mesh-ca\.pem/g, async () => join(service.dataDir, 'keys/mesh-ca.pem')],
    [/(?<=If-Match: )"2"/g, async () => etagOf(service)],
    // A report about longer ago than a month is refused.
    [/2026-11-21T18:00:00Z/g, async () => new Date().toISOString()],
  ]
}

async function codeOf(service: Service): Promise<string> {
  const { status, body } = await service.request('POST', '/v1/esim/issue', { body: {} })
  if (status !== 201) throw new Error(`no code: ${status}`)
  return body.token
}

/** The alert of the rule that is always true. */
async function alertOf(service: Service): Promise<string> {
  let id = ''
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/alerts')
    const found = body.alerts.find((one: { readonly rule: string }) => one.rule === 'trial')
    if (found?.state !== 'firing') throw new Error('the alert does not fire yet')
    id = found.id
  })
  return id
}

async function etagOf(service: Service): Promise<string> {
  return (await service.request('GET', '/v1/policy')).headers.get('etag') ?? ''
}

/** The folder in the place of /etc/svc. */
function etcOf(cwd: string): string {
  const folder = join(cwd, 'etc')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** Files that pages speak of: cards to import, as the page shows them. */
function putFiles(cwd: string, pages: ReadonlyMap<string, string>): void {
  const cards = /^```csv\n([\s\S]*?)^```$/m.exec(pages.get('how-to/import.md') ?? '')?.[1]
  if (cards === undefined) throw new Error('how-to/import.md shows no cards')
  writeFileSync(join(cwd, 'cards.csv'), cards)
}

/** Every command of the documentation, against one service that has all that pages turn on. */
const documented = suite('e2e/documented-commands')

const pages = documentedBlocks()
/** A restore takes the service back in time, so its page comes last. */
const LAST = 'how-to/backup.md'

let dir: string
let lab: LabProcess
let receiver: WebhookReceiver
let service: Service

documented.before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'steeple-documented-'))
  const secret = join(dir, 'ops.secret')
  receiver = await startWebhookReceiver(secret, () => 'take')
  writeFileSync(join(dir, 'control.yaml'), configOf(receiver.url, secret))
  lab = await startLabCore(join(dir, 'lab'))
  service = await startService({ env: lab.env, flags: ['--config', join(dir, 'control.yaml')] })
  putFiles(dir, new Map([['how-to/import.md', readFileSync(join(ROOT, 'docs/how-to/import.md'), 'utf8')]]))
  const made = await runSvc(['esim', 'certs', 'init', '--host', 'smdp.example.org'], {
    SVC_URL: service.url,
    SVC_TOKEN: service.adminToken,
  })
  assert.is(made.code, 0, made.stderr)
})
documented.after(async () => {
  await service.stop()
  await lab.stop()
  await receiver.close()
  rmSync(dir, { recursive: true, force: true })
})

documented('stand in blocks of commands, and not in others', () => {
  const found = [...otherBlocks()].filter(([, text]) =>
    /^ *(\$ )?(svc|npm|npx|curl|apt(-get)?|podman) /m.test(text),
  )
  assert.equal(
    found.map(([at]) => at),
    [],
  )
})

documented('leave out only what cannot run here, and say why', () => {
  const commands = [...pages.values()].flat().flatMap((block) => block.commands)
  const idle = EXCEPTIONS.filter(({ page, begins }) =>
    begins === ''
      ? !existsSync(join(ROOT, 'docs', page))
      : !commands.some((one) => isExcept(one, { page, begins })),
  )
  assert.equal(idle, [], 'exceptions for commands that are not there')
  const left = commands.filter((command) => EXCEPTIONS.some((one) => isExcept(command, one)))
  process.stdout.write(`\n# ${commands.length - left.length} commands are run, ${left.length} are not:\n`)
  for (const { page, begins, why } of EXCEPTIONS)
    process.stdout.write(`#   ${page} ${begins || '(all)'}: ${why}\n`)
  assert.ok(commands.length - left.length > 60, `${commands.length - left.length} commands`)
})

for (const page of [...pages.keys()].sort((a, b) => Number(a === LAST) - Number(b === LAST)))
  documented(`of docs/${page} do what it says`, async () => {
    const shell = openDocumentShell(dir, {
      SVC_URL: service.url,
      SVC_TOKEN: service.adminToken,
      TOKEN: service.adminToken,
      SVC_SERVER_DATADIR: service.dataDir,
      auth: `Authorization: Bearer ${service.adminToken}`,
      json: 'Content-Type: application/json',
    })
    try {
      for (const block of pages.get(page) ?? []) await runBlock(block, shell)
    } finally {
      shell.end()
    }
  })

documented.run()

async function runBlock({ commands, shown }: Block, shell: DocumentShell): Promise<void> {
  const known = new Map<string, string>()
  const outputs: string[] = []
  for (const command of commands.filter((one) => !EXCEPTIONS.some((exception) => isExcept(one, exception)))) {
    const { code, output } = await shell.run(await filledIn(command, known))
    const isAnswer = code === 1 && MAY_SAY_NO.some((begins) => command.script.startsWith(begins))
    assert.ok(
      code === 0 || isAnswer,
      `docs/${command.page}:${command.line} ended with ${code}\n${command.script}\n${output}`,
    )
    outputs.push(output)
  }
  if (shown !== undefined)
    assert.ok(
      outputs.some((output) => answers(output, shown)),
      outputs.join('\n'),
    )
}

/** The command with what only a running box has; one thing has one value within a block. */
async function filledIn({ script }: Command, known: Map<string, string>): Promise<string> {
  let text = script
  for (const [pattern, askFor] of replacements(service, dir)) {
    const [word] = text.match(pattern) ?? []
    if (word === undefined) continue
    const value = known.get(word) ?? (await askFor())
    if (word !== 'HASH') known.set(word, value)
    text = text.replaceAll(pattern, () => value)
  }
  return text
}

function isExcept(
  { page, script }: Command,
  exception: { readonly page: string; readonly begins: string },
): boolean {
  return page === exception.page && script.startsWith(exception.begins)
}

/** Whether an output is the JSON that a page shows, or more. */
function answers(output: string, shown: unknown): boolean {
  try {
    return isWithin(shown, JSON.parse(output))
  } catch {
    return false
  }
}

function isWithin(shown: unknown, seen: unknown): boolean {
  if (typeof shown === 'string' && shown.endsWith('…'))
    return typeof seen === 'string' && seen.startsWith(shown.slice(0, -1))
  if (typeof shown !== 'object' || shown === null) return shown === seen
  if (typeof seen !== 'object' || seen === null) return false
  return Object.entries(shown).every(
    ([key, value]) => NOT_COMPARED.includes(key) || isWithin(value, Reflect.get(seen, key)),
  )
}
