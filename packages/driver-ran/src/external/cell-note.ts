import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { replaceFile } from '@steeple/contracts'
import { codeOf } from '@steeple/http-client'
import { openDirectory } from '../supervisor/radio-files.ts'

/** What must be known of a cell over a restart: it was on. */
interface Noted {
  /** The core has seen it since. */
  readonly wasSeen: boolean
  /** It was on without a permit, so the core is closed to it. */
  readonly isClosed: boolean
}

/** That note. It is there from before the cell is turned on until it is proven off. */
export interface CellNote {
  /** Undefined: the cell has not been turned on. */
  read(): Promise<Noted | undefined>
  write(noted: Noted): Promise<void>
  remove(): Promise<void>
}

/** The note as a file of that folder. One that cannot be read says that the cell was on. */
export function cellNote(directory: string): CellNote {
  const path = join(directory, 'cell.json')
  const read = async (): Promise<Noted | undefined> => {
    try {
      const { wasSeen, isClosed } = Object(JSON.parse(await readFile(path, 'utf8')))
      return { wasSeen: wasSeen === true, isClosed: isClosed === true }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      return { wasSeen: false, isClosed: false }
    }
  }
  return {
    read,
    write: async (noted) => {
      if (isDeepStrictEqual(await read(), noted)) return
      await openDirectory(directory)
      await replaceFile(path, `${JSON.stringify(noted)}\n`)
    },
    remove: () => rm(path, { force: true }),
  }
}
