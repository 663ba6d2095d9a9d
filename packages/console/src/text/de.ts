import { accountDe } from './account.de.ts'
import { alertsDe } from './alerts.de.ts'
import { auditDe } from './audit.de.ts'
import { backupDe } from './backup.de.ts'
import { coreDe } from './core.de.ts'
import { esimDe } from './esim.de.ts'
import { homeDe } from './home.de.ts'
import type { Texts } from './index.ts'
import { meshDe } from './mesh.de.ts'
import { peopleDe } from './people.de.ts'
import { pluginsDe } from './plugins.de.ts'
import { radioDe } from './radio.de.ts'
import { rulesDe } from './rules.de.ts'
import { sessionsDe } from './sessions.de.ts'
import { settingsDe } from './settings.de.ts'
import { shellDe } from './shell.de.ts'
import { simsDe } from './sims.de.ts'
import { startDe } from './start.de.ts'
import { systemDe } from './system.de.ts'

/** All German texts: each area has a file of its own. */
export const de: Texts = {
  ...startDe,
  ...shellDe,
  ...homeDe,
  ...radioDe,
  ...rulesDe,
  ...simsDe,
  ...sessionsDe,
  ...coreDe,
  ...meshDe,
  ...alertsDe,
  ...auditDe,
  ...pluginsDe,
  ...settingsDe,
  ...systemDe,
  ...peopleDe,
  ...accountDe,
  ...backupDe,
  ...esimDe,
}
