import { backupInvalid } from '@steeple/contracts'
import { openSqliteConnection } from './sqlite-binding.ts'

/** Triggers before views: those of a view go with it. */
const OBJECTS = `select type, name, sql from sqlite_schema
  where type in ('trigger', 'view') or (type = 'table' and sql like 'create virtual%') order by type, name`
const MOST_NAMED = 20
const LONGEST_NAME = 100

interface StoredObject {
  readonly type: 'table' | 'trigger' | 'view'
  readonly name: string
  readonly sql: string
}

/**
 * Takes out of a store file what no version of this service makes and what would act by itself: triggers but one's
 * own, and views. To be called before anything is written into it. Gives what it was (`view every_row`), at most 20.
 * Throws `backup_invalid` for a virtual table, whose module would run as it is taken out.
 */
export function leaveOut(path: string, isOwn: (sql: string) => boolean): readonly string[] {
  const file = openSqliteConnection(path, 'write')
  try {
    const objects = file.prepare(OBJECTS).all() as readonly StoredObject[] // as the statement says
    const strange = objects.filter(({ type, sql }) => type !== 'trigger' || !isOwn(sql))
    const [table] = strange.filter(({ type }) => type === 'table')
    if (table !== undefined) throw backupInvalid(`it holds a virtual table (${shown(table.name)})`)
    for (const { type, name } of strange) file.exec(`drop ${type} if exists "${name.replaceAll('"', '""')}"`)
    return strange.slice(0, MOST_NAMED).map(({ type, name }) => `${type} ${shown(name)}`)
  } finally {
    file.close()
  }
}

function shown(name: string): string {
  return name.slice(0, LONGEST_NAME)
}
