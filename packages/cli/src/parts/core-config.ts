import { CORE_COMMANDS } from '../commands/core.ts'
import type { Part } from '../part.ts'

/** `svc core` */
export const part: Part = { commands: CORE_COMMANDS }
