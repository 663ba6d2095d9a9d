import { addCoreCommands } from '../commands/core.ts'
import type { Part } from '../part.ts'

/** `svc core` */
export const part: Part = { addCommands: addCoreCommands }
