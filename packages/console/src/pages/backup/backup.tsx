import { t } from '../../text/index.ts'
import { History } from './history.tsx'
import { Restore } from './restore.tsx'
import { TakeBackup } from './take-backup.tsx'

/** A backup is taken, looked into, and restored. */
export function Page() {
  return (
    <>
      <h1>{t('backup.title')}</h1>
      <div class="cards">
        <TakeBackup />
        <History />
      </div>
      <Restore />
    </>
  )
}
