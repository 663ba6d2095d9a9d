import { addBackupCommands } from '../commands/backup.ts'
import type { Part } from '../part.ts'

/** `svc backup`, `svc restore` */
export const part: Part = { commands: [addBackupCommands] }
