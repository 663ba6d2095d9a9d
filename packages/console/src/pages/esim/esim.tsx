import '../sims/sims.css'
import './esim.css'
import { may } from '../../api/session.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Tabs } from '../../ui/tabs.tsx'
import { Certs } from './certs.tsx'
import { Codes } from './codes.tsx'
import { Euiccs } from './euiccs.tsx'

/** eSIM: the codes that were given out, the chips that have used them, and what both believe each other by. */
export function Page() {
  const tabs = [
    ...(may('sim:issuer') ? [{ key: 'codes', title: t('esim.codes'), content: () => <Codes /> }] : []),
    { key: 'euiccs', title: t('esim.euiccs'), content: () => <Euiccs /> },
    ...(may('admin') ? [{ key: 'certs', title: t('esim.certs'), content: () => <Certs /> }] : []),
  ]
  return (
    <>
      <h1>{t('esim.title')}</h1>
      <Tabs
        label={t('esim.title')}
        tabs={tabs}
        chosen={filter('tab')}
        onChoose={(tab) => setFilters({ tab })}
      />
    </>
  )
}
