import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { printList, printRecord } from '../output/print.ts'
import { moment } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'
import { pathOfUser } from './user-id.ts'

/** Options of `svc user cert`. */
export interface CertOptions extends ConnectionOptions {
  readonly label?: string
  readonly expiresIn?: string
  readonly out?: string
  readonly p12?: boolean
  readonly use?: boolean
}

/** `svc user cert|certs|uncert`, `svc user passkeys|unpasskey`. */
export function addUserCertCommands(user: Command, terminal: Terminal): void {
  restCommand(user, 'cert <name>', 'a client certificate for a person; the key is made here and stays here')
    .option('--label <text>', 'what to know it by in the list, e.g. the machine that it is for')
    .option('--expires-in <duration>', 'such as 30d; 90d when absent')
    .option('--out <dir>', 'where the files go; here when absent')
    .option('--p12', 'also NAME.p12 for a browser, under a passphrase that is shown once')
    .option(
      '--use',
      'put it where svc looks for it, so that commands of this account need no token over https',
    )
    .action(async (name: string, options: CertOptions) => {
      const { makeCertificate } = await import('../keys/make-certificate.ts')
      await makeCertificate(terminal, name, options)
    })
  restCommand(user, 'certs <name>', 'the client certificates of a person')
    .addOption(limitOption())
    .action((name: string, options: ListOptions) => listCertificates(terminal, name, options))
  restCommand(user, 'uncert <name> <serial>', 'revoke a client certificate at once').action(
    async (name: string, serial: string, options: ConnectionOptions) => {
      await removeOf(terminal, name, `certificates/${encodeURIComponent(serial)}`, options)
      printRecord(terminal, options.json === true, { serial, revoked: true })
    },
  )
  restCommand(user, 'passkeys <name>', 'the passkeys of a person').action(
    (name: string, options: ConnectionOptions) => listPasskeys(terminal, name, options),
  )
  restCommand(user, 'unpasskey <name> <id>', 'remove a passkey at once').action(
    async (name: string, id: string, options: ConnectionOptions) => {
      await removeOf(terminal, name, `passkeys/${encodeURIComponent(id)}`, options)
      printRecord(terminal, options.json === true, { id, removed: true })
    },
  )
}

async function listCertificates(terminal: Terminal, name: string, options: ListOptions): Promise<void> {
  const client = connect(terminal, options)
  const path = `${await pathOfUser(client, name)}/certificates`
  printList(terminal, options.json === true, await client.list(path, 'certificates', options.limit), [
    { title: 'SERIAL', value: (row) => row.serial, fit: 'whole' },
    { title: 'LABEL', value: (row) => row.label },
    { title: 'ISSUED', value: (row) => moment(row.issued_at) },
    { title: 'EXPIRES', value: (row) => moment(row.expires_at) },
    { title: 'REVOKED', value: (row) => moment(row.revoked_at) },
  ])
}

async function listPasskeys(terminal: Terminal, name: string, options: ConnectionOptions): Promise<void> {
  const client = connect(terminal, options)
  const path = `${await pathOfUser(client, name)}/passkeys`
  // They are few and have no pages; the limit is what a page may have.
  printList(terminal, options.json === true, await client.list(path, 'passkeys', MOST_PASSKEYS), [
    { title: 'ID', value: (row) => row.id, fit: 'whole' },
    { title: 'LABEL', value: (row) => row.label },
    { title: 'HOST NAME', value: (row) => row.host_name },
    { title: 'LAST USED', value: (row) => moment(row.last_used_at) },
    { title: 'DISABLED', value: (row) => moment(row.disabled_at) },
  ])
}

const MOST_PASSKEYS = 500

async function removeOf(
  terminal: Terminal,
  name: string,
  rest: string,
  options: ConnectionOptions,
): Promise<void> {
  const client = connect(terminal, options)
  await client.change('DELETE', `${await pathOfUser(client, name)}/${rest}`)
}
