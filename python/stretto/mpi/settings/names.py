"""All variables that a setting may set: what a settings file may have `stretto run` set.

A file may come from anywhere, and other variables of the same families start programs or load
libraries (``OMPI_MCA_plm_rsh_agent``, ``OMPI_MCA_mca_base_component_path``).
"""

from __future__ import annotations

_OPENMPI = (
    "btl_sm_eager_limit", "btl_tcp_eager_limit", "btl_tcp_if_include", "btl_tcp_links",
    "btl_vader_eager_limit", "btl_vader_single_copy_mechanism", "coll_han_priority",
    "hwloc_base_binding_policy", "mpi_yield_when_idle", "opal_async_progress",
    "pml_ob1_max_rdma_per_request", "pml_ob1_use_all_rdma", "rmaps_base_mapping_policy", "smsc",
)  # fmt: skip
_MPICH = (
    "ASYNC_PROGRESS", "CH4_CMA_ENABLE", "CH4_IPC_CMA_P2P_THRESHOLD", "CH4_NETMOD",
    "CH4_OFI_EAGER_THRESHOLD", "CH4_OFI_ENABLE_MULTI_NIC_HASHING",
    "CH4_OFI_ENABLE_MULTI_NIC_STRIPING", "CH4_OFI_MAX_NICS",
    "CH4_OFI_PREF_NIC", "CH4_PACK_BUFFER_SIZE", "CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
    "CH4_XPMEM_ENABLE", "POLLS_BEFORE_YIELD",
)  # fmt: skip
NAMES = frozenset(
    {
        *(f"OMPI_MCA_{name}" for name in _OPENMPI),
        *(f"MPIR_CVAR_{name}" for name in _MPICH),
        "PRTE_MCA_hwloc_default_binding_policy", "PRTE_MCA_rmaps_default_mapping_policy",
        "HYDRA_BINDING", "HYDRA_MAPPING",
        "I_MPI_ASYNC_PROGRESS", "I_MPI_FABRICS", "I_MPI_MULTIRAIL", "I_MPI_PERHOST", "I_MPI_PIN",
        "I_MPI_PIN_DOMAIN",
        "I_MPI_PIN_ORDER", "I_MPI_SHM_CMA", "I_MPI_SHM_EAGER_THRESHOLD", "I_MPI_THREAD_YIELD",
        "I_MPI_WAIT_MODE",
        "FI_PROVIDER", "FI_TCP_IFACE", "UCX_MAX_RNDV_RAILS", "UCX_NET_DEVICES", "UCX_TLS",
        "SLURM_CPU_BIND", "SLURM_DISTRIBUTION",
        "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
    }
)  # fmt: skip
#: those that choose connections, interfaces, ports and transports (`stretto net rails`)
RAILS = frozenset(
    {
        "OMPI_MCA_btl_tcp_links", "OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE",
        "UCX_MAX_RNDV_RAILS", "UCX_NET_DEVICES", "I_MPI_MULTIRAIL", "FI_PROVIDER", "UCX_TLS",
        "MPIR_CVAR_CH4_OFI_PREF_NIC", "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING",
        "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_HASHING",
    }
)  # fmt: skip
