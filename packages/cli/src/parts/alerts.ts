import { ALERT_COMMANDS } from '../commands/alert.ts'
import type { Part } from '../part.ts'

/** `svc alert` */
export const part: Part = { commands: ALERT_COMMANDS }
