import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Notice } from '../../ui/notice.tsx'
import { RecoveryCodes, ShownOnce } from '../people/shown-once.tsx'
import { FEW_CODES } from '../people/user.ts'
import { NOTHING_PROVEN, ProofFields, proofOf } from './proof-fields.tsx'

/** Who may not read the audit trail is told of no login. */
const LOOK_MS = 30_000

/** One's own recovery codes: how many are left, and others in their place. */
export function OwnRecovery() {
  const [isAsked, setAsked] = useState(false)
  const [drawn, setDrawn] = useState<readonly string[] | undefined>(undefined)
  const codes = useQuery('/v1/auth/recovery-codes', {}, { on: ['auth.login', 'user.*'], everyMs: LOOK_MS })
  return (
    <section class="card" aria-label={t('people.recovery')}>
      <h2>{t('people.recovery')}</h2>
      <p>{t('account.recovery')}</p>
      <Loaded query={codes}>
        {({ left }) =>
          left === null ? null : left < FEW_CODES ? (
            <Notice tone="warn">{t('account.recovery.left', { count: left })}</Notice>
          ) : (
            <p>{t('account.recovery.left', { count: left })}</p>
          )
        }
      </Loaded>
      <div class="actions">
        <Button onClick={() => setAsked(true)}>{t('account.recovery.new')}</Button>
      </div>
      <p>{t('account.recovery.box')}</p>
      <p>
        <code>svc user reset NAME --offline</code>
      </p>
      {isAsked ? (
        <NewCodes
          onDrawn={(made) => {
            setAsked(false)
            setDrawn(made)
            codes.reload()
          }}
          onClose={() => setAsked(false)}
        />
      ) : null}
      {drawn === undefined ? null : (
        <ShownOnce title={t('account.recovery.drawn')} onClose={() => setDrawn(undefined)}>
          <RecoveryCodes codes={drawn} />
        </ShownOnce>
      )}
    </section>
  )
}

function NewCodes({
  onDrawn,
  onClose,
}: {
  readonly onDrawn: (codes: readonly string[]) => void
  readonly onClose: () => void
}) {
  const [proof, setProof] = useState(NOTHING_PROVEN)
  return (
    <FormDialog
      title={t('account.recovery.new')}
      confirm={t('account.recovery.new')}
      what={t('account.recovery.new.what')}
      act={() => api.post('/v1/auth/recovery-codes', { body: proofOf(proof) })}
      onDone={({ recovery_codes: codes }) => onDrawn(codes)}
      onClose={onClose}
    >
      <ProofFields proof={proof} onChange={setProof} />
    </FormDialog>
  )
}
