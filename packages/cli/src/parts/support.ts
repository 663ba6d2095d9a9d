import { addSupportCommands } from '../commands/support.ts'
import type { Part } from '../part.ts'

/** `svc support` */
export const part: Part = { commands: [addSupportCommands] }
