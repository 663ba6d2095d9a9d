import { accountEn } from './account.en.ts'
import { alertsEn } from './alerts.en.ts'
import { auditEn } from './audit.en.ts'
import { backupEn } from './backup.en.ts'
import { coreEn } from './core.en.ts'
import { esimEn } from './esim.en.ts'
import { homeEn } from './home.en.ts'
import { meshEn } from './mesh.en.ts'
import { peopleEn } from './people.en.ts'
import { pluginsEn } from './plugins.en.ts'
import { radioEn } from './radio.en.ts'
import { rulesEn } from './rules.en.ts'
import { sessionsEn } from './sessions.en.ts'
import { settingsEn } from './settings.en.ts'
import { shellEn } from './shell.en.ts'
import { simsEn } from './sims.en.ts'
import { startEn } from './start.en.ts'
import { systemEn } from './system.en.ts'

/** All English texts: each area has a file of its own. */
export const en = {
  ...startEn,
  ...shellEn,
  ...homeEn,
  ...radioEn,
  ...rulesEn,
  ...simsEn,
  ...sessionsEn,
  ...coreEn,
  ...meshEn,
  ...alertsEn,
  ...auditEn,
  ...pluginsEn,
  ...settingsEn,
  ...systemEn,
  ...peopleEn,
  ...accountEn,
  ...backupEn,
  ...esimEn,
} as const
