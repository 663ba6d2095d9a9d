import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf, type Sim } from '../sims/sim.tsx'
import { cutText, type SimDialogProps, timed, WAIT } from './cut.ts'
import { ForgetDialog } from './forget-dialog.tsx'
import { LabelDialog } from './label-dialog.tsx'
import { ReplaceDialog } from './replace-dialog.tsx'
import { ResumeDialog } from './resume-dialog.tsx'
import { RevokeDialog } from './revoke-dialog.tsx'

type Open = 'resume' | 'revoke' | 'label' | 'replace' | 'forget'

/** What may be done with a SIM, by its state and by who looks. */
export function Actions({ sim, etag, onChanged }: Omit<SimDialogProps, 'onClose'>) {
  const [open, setOpen] = useState<Open | undefined>(undefined)
  const path = { imsi: sim.imsi_sha256_12 }
  const suspend = useAction(() =>
    timed(() => api.post('/v1/sims/{imsi}/suspend', { path, query: { wait: WAIT } })),
  )
  const resume = useAction(() => api.post('/v1/sims/{imsi}/resume', { path }))
  const goOn = async (): Promise<void> => {
    const answer = await resume.run()
    if (answer?.ok !== true) return
    onChanged()
    toast({ text: t('sim.resumed', { name: nameOf(sim) }) })
  }
  const stop = async (): Promise<void> => {
    const answer = await suspend.run()
    if (answer?.ok !== true) return
    onChanged()
    toast({ text: cutText('sim.suspended', nameOf(sim), answer.data), undo: () => void goOn() })
  }
  const isLive = sim.state === 'issued' || sim.state === 'in-use'
  const dialog = { sim, etag, onClose: () => setOpen(undefined), onChanged }
  return (
    <>
      <div class="toolbar">
        {isLive && may('operator') ? (
          <Button onClick={() => void stop()} isBusy={suspend.isBusy}>
            {t('sims.bulk.suspend')}
          </Button>
        ) : null}
        {sim.state === 'suspended' && may('operator') ? (
          <Button
            kind="primary"
            onClick={() => (sim.suspend_reason === 'operator' ? void goOn() : setOpen('resume'))}
            isBusy={resume.isBusy}
          >
            {t('sims.bulk.resume')}
          </Button>
        ) : null}
        <FurtherButtons sim={sim} onOpen={setOpen} />
      </div>
      {[suspend.error, resume.error].map((error) => error && <ErrorNotice key={error.code} error={error} />)}
      <OpenDialog open={open} {...dialog} />
    </>
  )
}

/** What needs no more than a role, and a SIM that is not over. */
function FurtherButtons({ sim, onOpen }: { readonly sim: Sim; readonly onOpen: (open: Open) => void }) {
  const isOver = sim.state === 'revoked'
  return (
    <>
      {may('sim:issuer') ? <Button onClick={() => onOpen('label')}>{t('sims.bulk.label')}</Button> : null}
      {may('sim:issuer') && !isOver ? (
        <Button onClick={() => onOpen('replace')}>{t('sim.replace')}</Button>
      ) : null}
      {may('sim:admin') && !isOver ? (
        <Button onClick={() => onOpen('revoke')}>{t('sims.bulk.revoke')}</Button>
      ) : null}
      {may('admin') && has('compliance') ? (
        <Button onClick={() => onOpen('forget')}>{t('sim.forget')}</Button>
      ) : null}
    </>
  )
}

function OpenDialog({ open, ...dialog }: SimDialogProps & { readonly open: Open | undefined }) {
  switch (open) {
    case 'resume':
      return <ResumeDialog {...dialog} />
    case 'revoke':
      return <RevokeDialog {...dialog} />
    case 'label':
      return <LabelDialog {...dialog} />
    case 'replace':
      return <ReplaceDialog {...dialog} />
    case 'forget':
      return <ForgetDialog {...dialog} />
    case undefined:
      return null
  }
}
