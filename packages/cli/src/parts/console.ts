import { addConsoleCommand } from '../commands/console.ts'
import type { Part } from '../part.ts'

/** `svc console` */
export const part: Part = { commands: [addConsoleCommand] }
