import { addAlertCommands } from '../commands/alert.ts'
import type { Part } from '../part.ts'

/** `svc alert` */
export const part: Part = { addCommands: addAlertCommands }
