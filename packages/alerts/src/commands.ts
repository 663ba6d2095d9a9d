import type { CommandHost, Commands } from '@steeple/contracts'
import { FIELDS, KINDS } from './receivers/kinds.ts'

/** `svc alert receiver add`: secrets are typed or read, never on the command line, where other users see them. */
export const commands: Commands = {
  'alert receiver add': async (host) => {
    const { name, minSeverity: min_severity, allowPrivate: allow_private, resolved, ...typed } = host.typed
    const kind = KINDS.find((one) => one === typed.kind)
    if (kind === undefined) throw host.usage(`say what it is: --kind ${KINDS.join(', ')}`)
    const fields = FIELDS[kind]
    const names = Object.keys(fields)
    const secret = names.filter((one) => fields[one]?.isSecret === true)
    const given = names.filter((one) => !secret.includes(one)).map((one) => [one, typed[one]] as const)
    const wanted = typed.user === undefined ? secret.filter((one) => one !== 'password') : secret
    const answers = await secretsOf(
      host,
      wanted.map((one) => `${one}${fields[one]?.isRequired === true ? '' : ' (empty: none)'}`),
    )
    const secrets = wanted.map((one, index) => [one, answers[index]?.trim() || undefined] as const)
    const body = {
      name,
      kind,
      min_severity,
      allow_private,
      resolved,
      ...Object.fromEntries([...given, ...secrets]),
    }
    host.printRecord(await host.call('POST /v1/alerts/receivers', { body }))
    if (!host.isJson) host.err(`Now try it: svc alert receiver test ${String(name)}\n`)
  },
}

async function secretsOf(host: CommandHost, questions: readonly string[]): Promise<readonly string[]> {
  if (questions.length === 0) return []
  if (host.ask === undefined) return (await host.input()).split('\n')
  return await host.ask(questions.map((one) => ({ question: `${one}: `, isHidden: true })))
}
