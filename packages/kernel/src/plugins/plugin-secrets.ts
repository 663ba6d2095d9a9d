import { basename, dirname, resolve } from 'node:path'
import { notFound, type Reader, type SqlValue, secretsInvalid, type Tx, type Vault } from '@steeple/contracts'
import { readKeyFile } from '@steeple/secrets'
import { leavesOf, type Section, valueAt } from '@steeple/settings'
import { hideFromNowOn } from '../telemetry/log-redaction.ts'

/** What plugins keep secret and cannot keep in a file. The row's id is `<plugin>/<key>`. */
export const SECRET_DDL = 'create table kernel_secret (id text not null primary key, sealed bytea not null)'
const TABLE = 'kernel_secret'

/** Where the value of a secret key is. */
export interface SecretState {
  readonly key: string
  /** A file that the configuration names wins over the store. */
  readonly from: 'file' | 'store' | 'nowhere'
}

/** The secrets of plugins: values of the keys that their schemas mark with `x-secret`. */
export interface PluginSecrets {
  list(section: Section): Promise<readonly SecretState[]>
  /**
   * The value, without the line end behind it; undefined when it is nowhere. From then on no log line shows it.
   *
   * Throws `not_found` for a key that is no secret of the plugin, `secrets_invalid` for a file that others can read or
   * that is not there.
   */
  read(section: Section, key: string): Promise<string | undefined>
  /** Seals the value in the store; undefined removes it. Throws `not_found`. */
  write(tx: Tx, section: Section, key: string, value: string | undefined): Promise<void>
  /** Removes what is sealed for a plugin that is gone: what comes under its id one day may be somebody else's. */
  forget(tx: Tx, plugin: string): Promise<void>
}

/** Makes them. `settings` gives the configuration as it stands. */
export function createPluginSecrets(db: Reader, vault: Vault, settings: () => object): PluginSecrets {
  vault.register({ table: TABLE, key: 'id', columns: ['sealed'] })
  const fileOf = ({ configPath }: Section, key: string): string | undefined => {
    const path = valueAt(settings(), [...configPath.split('.'), ...key.split('.')])
    return typeof path === 'string' && path !== '' ? path : undefined
  }
  const stored = async (id: string): Promise<SqlValue | undefined> =>
    (await db.get<{ readonly sealed: SqlValue }>('select sealed from kernel_secret where id = :id', { id }))
      ?.sealed
  return {
    list: async (section) => {
      const states: SecretState[] = []
      for (const key of secretKeys(section)) {
        const isStored = (await stored(idOf(section, key))) !== undefined
        const from = fileOf(section, key) !== undefined ? 'file' : isStored ? 'store' : 'nowhere'
        states.push({ key, from })
      }
      return states
    },
    read: async (section, key) => {
      refuseUnknown(section, key)
      const path = fileOf(section, key)
      const bytes =
        path === undefined ? opened(vault, section, key, await stored(idOf(section, key))) : fileAt(path)
      if (bytes === undefined) return undefined
      const value = Buffer.from(bytes)
        .toString('utf8')
        .replace(/\r?\n$/, '')
      hideFromNowOn(value)
      return value
    },
    write: async (tx, section, key, value) => {
      refuseUnknown(section, key)
      const id = idOf(section, key)
      await tx.run('delete from kernel_secret where id = :id', { id })
      if (value === undefined) return
      hideFromNowOn(value)
      const sealed = vault.seal(Buffer.from(value), `${TABLE}/${id}`)
      await tx.run('insert into kernel_secret (id, sealed) values (:id, :sealed)', { id, sealed })
    },
    forget: async (tx, plugin) => {
      await tx.run('delete from kernel_secret where id like :ids', { ids: `${plugin}/%` })
    },
  }
}

/** Below the plugin's own path. */
function secretKeys({ schema = {}, configPath }: Section): readonly string[] {
  return leavesOf(schema)
    .filter(({ schema: leaf }) => leaf['x-secret'] === true)
    .map(({ path }) => path.join('.'))
    .filter((key) => key.startsWith(`${configPath}.`))
    .map((key) => key.slice(configPath.length + 1))
}

function idOf({ plugin }: Section, key: string): string {
  return `${plugin}/${key}`
}

function refuseUnknown(section: Section, key: string): void {
  const keys = secretKeys(section)
  if (keys.includes(key)) return
  const those = keys.length === 0 ? 'it has none' : `it has ${keys.join(', ')}`
  throw notFound(`such secret of ${section.plugin}; ${those} (x-secret in its schema)`)
}

function opened(
  vault: Vault,
  section: Section,
  key: string,
  sealed: SqlValue | undefined,
): Uint8Array | undefined {
  return sealed instanceof Uint8Array ? vault.open(sealed, `${TABLE}/${idOf(section, key)}`) : undefined
}

function fileAt(path: string): Uint8Array {
  const bytes = readKeyFile(dirname(resolve(path)), basename(path))
  if (bytes === undefined) throw secretsInvalid(`${path} is missing; the configuration names it as a secret`)
  return bytes
}
