"""Numbers that functions look up, written by `docs/fit_coefficients.py tables`."""

from __future__ import annotations

from ....compiler.ir.record import record

Row = tuple[float, ...]


def _row(text: str) -> Row:
    return tuple(map(float.fromhex, text.split()))


@record
class Pieces:
    """An odd function in pieces around the multiples of `step`, up to `last`.

    A row for each power of the distance t, one number a piece; the first piece lacks a term t.
    """

    step: float
    last: float
    rows: tuple[Row, ...]


PIECES = {
    ("erf", "f4"): Pieces(
        0.12890625,
        4.0,
        (
            _row(
                "0x0p+0 0x1.284012p-3 0x1.236bfp-2 0x1.a98722p-2 0x1.117894p-1 0x1.46a414p-1 0x1.73b102p-1 "
                "0x1.989e3cp-1 0x1.b5e63p-1 0x1.cc5c5ap-1 0x1.dd0788p-1 0x1.e8fef4p-1 0x1.f14e82p-1 "
                "0x1.f6e3eep-1 0x1.fa84fep-1 0x1.fccd2ap-1 0x1.fe308p-1 0x1.ff0198p-1 0x1.ff789ep-1 "
                "0x1.ffba2cp-1 0x1.ffdd18p-1 0x1.ffef16p-1 0x1.fff81p-1 0x1.fffc64p-1 0x1.fffe68p-1 "
                "0x1.ffff52p-1 0x1.ffffb8p-1 0x1.ffffe4p-1 0x1.fffff4p-1 0x1.fffffcp-1 0x1.fffffep-1 0x1p+0"
            ),
            _row(
                "0x1.06eba8p-3 0x1.1c1acep+0 0x1.0e4a08p+0 0x1.f17ae6p-1 0x1.bada5ap-1 0x1.7d568cp-1 "
                "0x1.3da26ep-1 0x1.ffd95cp-2 0x1.8eed36p-2 0x1.2cc0fp-2 0x1.b6a856p-3 0x1.3570c4p-3 "
                "0x1.a64de6p-4 0x1.16bf4ep-4 0x1.63f3f6p-5 0x1.b7af4cp-6 0x1.06ae14p-6 0x1.2f9af6p-7 "
                "0x1.536fc2p-8 0x1.6f177ep-9 0x1.8005fp-10 0x1.849a98p-11 0x1.7c629cp-12 0x1.682b6p-13 "
                "0x1.49e178p-14 0x1.244356p-15 0x1.f4f132p-17 0x1.9f46fap-18 0x1.4d0236p-19 0x1.024f2p-20 "
                "0x1.83a208p-22 0x1.195834p-23"
            ),
            _row(
                "0x1.0261a8p-21 -0x1.24fb86p-3 -0x1.16bc3cp-2 -0x1.80c4ecp-2 -0x1.c8b10ap-2 -0x1.eb9176p-2 "
                "-0x1.eb5732p-2 -0x1.cddd1ep-2 -0x1.9b64a6p-2 -0x1.5cebe2p-2 -0x1.1aba8ep-2 -0x1.b6c704p-3 "
                "-0x1.46a058p-3 -0x1.d31eb8p-4 -0x1.413134p-4 -0x1.a91606p-5 -0x1.0ee38p-5 -0x1.4ca93p-6 "
                "-0x1.89cc64p-7 -0x1.c18ac2p-8 -0x1.ef06d2p-9 -0x1.06fcfep-9 -0x1.0daf08p-10 -0x1.0af502p-11 "
                "-0x1.fe45fap-13 -0x1.d6eb4p-14 -0x1.a3b884p-15 -0x1.69534p-16 -0x1.2c793ap-17 "
                "-0x1.e2c9aap-19 -0x1.76bc84p-20 -0x1.190c06p-21"
            ),
            _row(
                "-0x1.813114p-2 -0x1.6e3804p-2 -0x1.387ab4p-2 -0x1.d0e992p-3 -0x1.147f34p-3 -0x1.580af6p-5 "
                "0x1.4cb9aap-5 0x1.ace48p-4 0x1.2bb6cp-3 0x1.533c22p-3 0x1.53b872p-3 0x1.37a27cp-3 "
                "0x1.0a7304p-3 0x1.acf1e4p-4 0x1.471becp-4 0x1.daaea2p-5 0x1.48b146p-5 0x1.b3659cp-6 "
                "0x1.144afep-6 0x1.506b54p-7 0x1.8969dap-8 0x1.ba3b02p-9 0x1.de2cep-10 0x1.f1a5bp-11 "
                "0x1.f2bbe4p-12 0x1.e18516p-13 0x1.c00a28p-14 0x1.91e56p-15 0x1.5ba324p-16 0x1.220aa6p-17 "
                "0x1.d2ea96p-19 0x1.6aa606p-20"
            ),
            _row(
                "0x1.e9874p-11 0x1.2122ep-4 0x1.09d8dcp-3 0x1.59c058p-3 0x1.771a68p-3 0x1.62eb08p-3 "
                "0x1.27151ap-3 0x1.a62286p-4 0x1.df4aa2p-5 0x1.207d84p-6 -0x1.e301bcp-7 -0x1.299ebp-5 "
                "-0x1.83e832p-5 -0x1.96c4dcp-5 -0x1.77d9cap-5 -0x1.3d1be4p-5 -0x1.f16c0ap-6 -0x1.6e70d6p-6 "
                "-0x1.fe773ep-7 -0x1.51ad44p-7 -0x1.a9a886p-8 -0x1.0039cap-8 -0x1.27262p-9 -0x1.45c54ap-10 "
                "-0x1.58ef66p-11 -0x1.5eb1a4p-12 -0x1.56a134p-13 -0x1.41e516p-14 -0x1.22f6bp-15 "
                "-0x1.fa55acp-17 -0x1.a8427p-18 -0x1.56756ap-19"
            ),
            _row(
                "0x1.affb7ap-4 0x1.a9561ep-4 0x1.40d77p-4 0x1.594eb6p-5 0x1.7a8582p-9 -0x1.057e22p-5 "
                "-0x1.cfb5aap-5 -0x1.186e9p-4 -0x1.1625d6p-4 -0x1.d92548p-5 -0x1.58c41ap-5 -0x1.998ac8p-6 "
                "-0x1.3e443ap-7 0x1.e8a4b8p-10 0x1.2ba144p-7 0x1.9a9f2cp-7 0x1.a973d8p-7 0x1.7c63f6p-7 "
                "0x1.335a4p-7 0x1.cacd2ap-8 0x1.403d62p-8 0x1.a54a3ep-9 0x1.067ed6p-9 0x1.36fd6ap-10 "
                "0x1.5f3cb8p-11 0x1.7af38ep-12 0x1.8733cep-13 0x1.82eb82p-14 0x1.6f0896p-15 0x1.4e39bcp-16 "
                "0x1.246142p-17 0x1.ebbcfp-19"
            ),
        ),
    ),
    ("erf", "f8"): Pieces(
        0.390625,
        6.0,
        (
            _row(
                "0x0p+0 0x1.ad68966569a87p-2 0x1.762870f720c6fp-1 0x1.ce1962c0e0d8bp-1 0x1.f21c9f12f0677p-1 "
                "0x1.fd0f5317f582fp-1 0x1.ff87b1913e853p-1 0x1.fff18ebe2b0e1p-1 0x1.fffeb3ebb267bp-1 "
                "0x1.ffffe9bf4098cp-1 0x1.fffffee3cc32cp-1 0x1.fffffff57632dp-1 0x1.ffffffffb5be5p-1 "
                "0x1.fffffffffe7cp-1 0x1.fffffffffffa2p-1 0x1.fffffffffffffp-1"
            ),
            _row(
                "0x1.06eba8214db69p-3 0x1.eff8c4b1375dbp-1 0x1.39ccc1b136d5ap-1 0x1.24a55399ea239p-2 "
                "0x1.92470a61b6965p-4 0x1.978ae8b55ce1bp-6 0x1.30499b503957fp-8 0x1.4ee1429bf7ccp-11 "
                "0x1.0f9e1b4dd36e1p-14 0x1.44ba86467088p-18 0x1.1e1e857adc543p-22 0x1.7397c5a66e2fcp-27 "
                "0x1.63ac6b4edce39p-32 0x1.f5cc77180bed4p-38 0x1.04e15ecc889e7p-43 0x1.8fd4e018c7e2dp-50"
            ),
            _row(
                "-0x1.467958f03d852p-46 -0x1.837a59aa733fap-2 -0x1.ea4feea4e5aefp-2 -0x1.56f1bdf85e61fp-2 "
                "-0x1.3a47801c56a44p-3 -0x1.8dfda7411cb58p-5 -0x1.6496420203363p-7 -0x1.c9d7f9113cbe3p-10 "
                "-0x1.a8670aa99a4abp-13 -0x1.1d67f003e92c6p-16 -0x1.1769ce59fbef6p-20 -0x1.8f2c0951c3951p-25 "
                "-0x1.a0ce0dc0353ep-30 -0x1.3e864997f9016p-35 -0x1.64ac1f9861bd5p-41 -0x1.24d86a19eedb5p-47"
            ),
            _row(
                "-0x1.812746b0245e9p-2 -0x1.cb7bf78e2decfp-3 0x1.715e59534349ep-5 0x1.54c0d66d7764dp-3 "
                "0x1.0453f90d3bd2p-3 0x1.c24b2053e3381p-5 0x1.fa73d7eb1b77cp-7 0x1.85661421616c5p-9 "
                "0x1.a3737e2a2f0fep-12 0x1.40ee07ac504bep-15 0x1.5fe5d4756182p-19 0x1.161fb5391a001p-23 "
                "0x1.3e380dd746743p-28 0x1.085b86614fe36p-33 0x1.3fa83028f2313p-39 0x1.19d11ff4ab38bp-45"
            ),
            _row(
                "-0x1.c724fba7f75d4p-32 0x1.5c0fc7760ca03p-3 0x1.22cdbdb4d099fp-3 0x1.cf82bac1bc541p-7 "
                "-0x1.8a7c6a2399be7p-5 -0x1.33137b26e08aap-5 -0x1.daa3005c28ab4p-7 -0x1.c812e602cc58p-9 "
                "-0x1.24544f02d9856p-11 -0x1.02488b68ae2cep-14 -0x1.405da04827c5ep-18 -0x1.1a2239f48f03ep-22 "
                "-0x1.638bc505b0386p-27 -0x1.4256995bd6909p-32 -0x1.a62b712e038dep-38 -0x1.909da85eb61e3p-44"
            ),
            _row(
                "0x1.ce2f270e1e032p-4 0x1.4dd7b2ce0e2bep-5 -0x1.da50ae54a27e3p-5 -0x1.cf38b99950912p-5 "
                "-0x1.075c08801f1acp-7 0x1.a342ba0e7c81dp-7 0x1.250942c30f6bap-7 0x1.7e02d8bc34d66p-9 "
                "0x1.2e7e763d41044p-11 0x1.3b124fb17cb39p-14 0x1.bfc96a9257265p-18 0x1.bb32ded20d6b6p-22 "
                "0x1.35753ad956b9bp-26 0x1.338c499c915eap-31 0x1.b5c6198bb279dp-37 0x1.c055de610edbfp-43"
            ),
            _row(
                "-0x1.38fdf1ae6d5bp-21 -0x1.9ebc1ddba63ccp-5 -0x1.75578f5011b07p-6 0x1.2c1727042fc3ap-6 "
                "0x1.16f9c9ca5faafp-6 0x1.b4bbc4eabb114p-10 -0x1.997578d41d8d1p-9 -0x1.c5229393c3991p-10 "
                "-0x1.da496e4b102f7p-12 -0x1.2c595047a584cp-14 -0x1.f19ff6137742p-18 -0x1.17c6eec17fbe4p-21 "
                "-0x1.b41f309413543p-26 -0x1.dd9c45875c4aep-31 -0x1.72de1946742f4p-36 -0x1.9b1e6e611ffb7p-42"
            ),
            _row(
                "-0x1.b80035078ba0fp-6 -0x1.0997780e095cbp-8 0x1.35331b66a095ap-6 0x1.e06b844c98935p-8 "
                "-0x1.74c2fcab2b045p-8 -0x1.04937e80eda69p-8 -0x1.3903daf455b48p-15 0x1.583413ac21629p-11 "
                "0x1.176cf65850bdep-12 0x1.c5586b37cae19p-15 0x1.c0c4db8cbf394p-18 0x1.22b6eec4b1ffbp-21 "
                "0x1.fe694c3b2eab2p-26 0x1.35de340da6347p-30 0x1.07aeb32c3da41p-35 0x1.3d712dd5c94b7p-41"
            ),
            _row(
                "-0x1.0cb1a3e934778p-13 0x1.707482bc55353p-7 0x1.39c83e8372b8p-10 -0x1.8df7e5df2d9a2p-8 "
                "-0x1.760c7c7ed9d28p-10 0x1.9f5a299989b42p-10 0x1.6a6d8c2103104p-11 -0x1.48c1dc91b337dp-14 "
                "-0x1.d2ac76067d19cp-14 -0x1.0dba1c934a42bp-15 -0x1.4b9de9bc0ff6fp-18 -0x1.f8ada479bca9bp-22 "
                "-0x1.f8afed09d0078p-26 -0x1.5638aca34197bp-30 -0x1.40c814b2f8c46p-35 -0x1.a4fd7965b591ep-41"
            ),
            _row(
                "0x1.99b9ddca6f6bbp-8 -0x1.8a60822ba9817p-13 -0x1.fc371a970e1b1p-9 0x1.471e44cf02e1cp-13 "
                "0x1.a3cdc32edcde2p-10 0x1.66568f0ff5b28p-14 -0x1.71ebd1343513p-12 -0x1.4fa98e4eb9cf3p-14 "
                "0x1.aafde7c0d9d91p-16 0x1.ea4b97bc7f3efp-17 0x1.9133d1fb7d762p-19 0x1.70d7634afa811p-22 "
                "0x1.aa7799b500e74p-26 0x1.45eea46dc6092p-30 0x1.528fcfc91e4b4p-35 0x1.e66d6003920b4p-41"
            ),
            _row(
                "-0x1.64fc96c0e682ep-8 -0x1.040da6f33b316p-9 0x1.9bf2618337d0cp-12 0x1.1167e714012e5p-10 "
                "-0x1.02aace344e36dp-12 -0x1.4a60d291a0a67p-12 0x1.642b129343c3bp-15 0x1.e413aa08d5316p-15 "
                "0x1.040939f146b91p-18 -0x1.31e8ee964d757p-18 -0x1.871800707efedp-20 -0x1.c674c71c62e2fp-23 "
                "-0x1.35f44a4828351p-26 -0x1.0ded7c5522098p-30 -0x1.38be867d5d9edp-35 -0x1.edda2b0f3c04ap-41"
            ),
            _row(
                "0x1.1de5ec5e78904p-6 0x1.677e2e254939cp-13 0x1.2f60d5ab8316bp-11 -0x1.03b563caf281bp-12 "
                "-0x1.9294be4777a88p-13 0x1.9a8eb80aee0e6p-14 0x1.4c815bfe92ae1p-15 -0x1.058f8d4378109p-16 "
                "-0x1.ab43acd4f171cp-18 0x1.18713ab8007e9p-21 0x1.24ed2e6a36a48p-21 0x1.d4be6d9541a5dp-24 "
                "0x1.84e20b713cdap-27 0x1.87f5faacdd2d4p-31 0x1.ff74d5eadef97p-36 0x1.bee359370419fp-41"
            ),
            _row(
                "-0x1.21757edafddfdp-5 0x1.2a7ad49b68021p-12 -0x1.13cfe19ca24efp-13 -0x1.c8d1df57aa854p-14 "
                "0x1.672d99ef5f1d3p-14 0x1.111fe8d24b589p-16 -0x1.6ad720a7305a9p-16 -0x1.d8842382b44e3p-20 "
                "0x1.6af87586b25c3p-19 0x1.aa133a4a3de86p-22 -0x1.1c156bbeb0bep-23 -0x1.8f9818b867debp-25 "
                "-0x1.adfbfa911d11fp-28 -0x1.03935c2b9b7a8p-31 -0x1.873213849da58p-36 -0x1.828f9a18d2a46p-41"
            ),
            _row(
                "0x1.eada2df0869cep-6 -0x1.4587780227773p-15 -0x1.106d49f54e4dcp-14 0x1.c0cccbb214ccfp-15 "
                "0x1.ac8f2d688878fp-18 -0x1.33be280ebbd55p-16 0x1.22e2531efbe8ep-19 0x1.82f6080d40005p-19 "
                "-0x1.a7e794927576bp-22 -0x1.2fa161c28e79dp-22 0x1.59e7424a7e52fp-29 0x1.02db1fec98b34p-26 "
                "0x1.891648a6f4707p-29 0x1.2150ee8f9290cp-32 0x1.f7faec39ab6a6p-37 0x1.17d63137b03ap-41"
            ),
        ),
    ),
    ("tanh", "f4"): Pieces(
        0.296875,
        9.25,
        (
            _row(
                "0x0p+0 0x1.275f7ep-2 0x1.10af48p-1 0x1.6c643ep-1 0x1.a8dbccp-1 0x1.cdf83ap-1 0x1.e3c0bp-1 "
                "0x1.f0348cp-1 0x1.f73776p-1 0x1.fb2174p-1 0x1.fd4e2p-1 0x1.fe829p-1 0x1.ff2d36p-1 "
                "0x1.ff8b8ep-1 0x1.ffbfaep-1 0x1.ffdc7ap-1 0x1.ffec62p-1 0x1.fff52ap-1 0x1.fffa04p-1 "
                "0x1.fffcb2p-1 0x1.fffe2cp-1 0x1.fffefep-1 0x1.ffff72p-1 0x1.ffffb2p-1 0x1.ffffd4p-1 "
                "0x1.ffffe8p-1 0x1.fffff2p-1 0x1.fffff8p-1 0x1.fffffcp-1 0x1.fffffep-1 0x1.fffffep-1 0x1p+0"
            ),
            _row(
                "0x1.33e53ap-32 0x1.d56658p-1 0x1.6ec588p-1 0x1.f952c8p-2 0x1.3ee73p-2 0x1.7cb01cp-3 "
                "0x1.b77d6ap-4 0x1.f1a2bap-5 0x1.16a7fcp-5 0x1.3627a6p-6 0x1.5807fp-7 0x1.7ce18ap-8 "
                "0x1.a53bdp-9 0x1.d196fep-10 0x1.0139b6p-10 0x1.1c2b5p-11 0x1.39e782p-12 0x1.5abb6cp-13 "
                "0x1.7efb44p-14 0x1.a7037ap-15 0x1.d339d2p-16 0x1.02073ap-16 0x1.1cfe94p-17 0x1.3ac742p-18 "
                "0x1.5bacb2p-19 0x1.80022ep-20 0x1.a823bp-21 0x1.d476d2p-22 0x1.02b5e4p-22 0x1.1dbf3ep-23 "
                "0x1.3b9be8p-24 0x1.5c977ap-25"
            ),
            _row(
                "-0x1.22358cp-23 -0x1.0ecbfap-2 -0x1.86ad0ap-2 -0x1.67a3cep-2 -0x1.08a05cp-2 -0x1.577d22p-3 "
                "-0x1.9f3e34p-4 -0x1.e248b6p-5 -0x1.11e038p-5 -0x1.333488p-6 -0x1.563862p-7 -0x1.7bc5c8p-8 "
                "-0x1.a48e64p-9 -0x1.d12d18p-10 -0x1.011964p-10 -0x1.1c1798p-11 -0x1.39db7cp-12 "
                "-0x1.5ab416p-13 -0x1.7ef6cap-14 -0x1.a700cp-15 -0x1.d33828p-16 -0x1.0206b8p-16 "
                "-0x1.1cfe44p-17 -0x1.3ac712p-18 -0x1.5bac94p-19 -0x1.80021cp-20 -0x1.a823a6p-21 "
                "-0x1.d476ccp-22 -0x1.02b5e2p-22 -0x1.1dbf3cp-23 -0x1.3b9be6p-24 -0x1.5c9778p-25"
            ),
            _row(
                "-0x1.55529p-2 -0x1.d5a404p-3 -0x1.23ac46p-5 0x1.5e0b28p-4 0x1.c52722p-4 0x1.6e108cp-4 "
                "0x1.ebae3ep-5 0x1.2d876cp-5 0x1.60958ap-6 0x1.91cbaep-7 0x1.c37b3ep-8 0x1.f7692p-9 "
                "0x1.17777p-9 0x1.359056p-10 0x1.5675aap-11 0x1.7a94cp-12 0x1.a25902p-13 0x1.ce30e2p-14 "
                "0x1.fe9158p-15 0x1.19fc4p-15 0x1.3777ep-16 0x1.5806dcp-17 0x1.7bfc0ap-18 0x1.a3b2aep-19 "
                "0x1.cf8f76p-20 0x1.0000c2p-20 0x1.1ac1c4p-21 0x1.384e7cp-22 0x1.58f1bep-23 0x1.7cfe24p-24 "
                "0x1.a4cef4p-25 0x1.d0c8f4p-26"
            ),
            _row(
                "-0x1.3d73c8p-12 0x1.3bf0f4p-3 0x1.2b4e7ap-3 0x1.ccd8f4p-5 -0x1.72e7b4p-8 -0x1.9532fcp-6 "
                "-0x1.77739cp-6 -0x1.06eedep-6 -0x1.47e7dep-7 -0x1.82585ap-8 -0x1.b9eba2p-9 -0x1.f18842p-10 "
                "-0x1.15aa7ap-10 -0x1.34768p-11 -0x1.55c98cp-12 -0x1.7a2bb6p-13 -0x1.a218f2p-14 "
                "-0x1.ce09d6p-15 -0x1.fe799p-16 -0x1.19f504p-16 -0x1.37737cp-17 -0x1.580436p-18 "
                "-0x1.7bfa72p-19 -0x1.a3b1bep-20 -0x1.cf8eecp-21 -0x1.00009cp-21 -0x1.1ac1b2p-22 "
                "-0x1.384e78p-23 -0x1.58f1cp-24 -0x1.7cfe2ep-25 -0x1.a4cfp-26 -0x1.d0c904p-27"
            ),
            _row(
                "0x1.191d26p-3 0x1.ab5f06p-5 -0x1.902f26p-5 -0x1.d44af8p-5 -0x1.a05de4p-6 -0x1.cb88d8p-9 "
                "0x1.03910cp-8 0x1.2e92e8p-8 0x1.c00fd4p-9 0x1.1d4b66p-9 0x1.534f3p-10 0x1.85eaa8p-11 "
                "0x1.b80978p-12 0x1.ebc8e4p-13 0x1.115aacp-13 0x1.2f0008p-14 0x1.4f52fep-15 0x1.72c4fep-16 "
                "0x1.99c322p-17 0x1.c4bbf2p-18 0x1.f42372p-19 0x1.143b06p-19 0x1.311d72p-20 0x1.5102eap-21 "
                "0x1.743cbp-22 0x1.9b243ap-23 0x1.c61c34p-24 0x1.f5917ep-25 0x1.14fe26p-25 0x1.31f0aep-26 "
                "0x1.51e99ep-27 0x1.7539e6p-28"
            ),
            _row(
                "-0x1.831ap-6 -0x1.21e7eap-4 -0x1.fd7fd4p-6 0x1.c563f2p-7 0x1.16d71ep-6 0x1.f1a4bap-8 "
                "0x1.a93d8cp-10 -0x1.c5db7ap-12 -0x1.8f9ceap-11 -0x1.3c3fdap-11 -0x1.9bee92p-12 "
                "-0x1.eeb4fep-13 -0x1.1d94d8p-13 -0x1.4310dap-14 -0x1.6984a4p-15 -0x1.922b76p-16 "
                "-0x1.bdf40ap-17 -0x1.eda10ep-18 -0x1.10ef54p-18 -0x1.2da84ep-19 -0x1.4d4dc8p-20 "
                "-0x1.7035c2p-21 -0x1.96bc2ap-22 -0x1.c144bap-23 -0x1.f03c7p-24 -0x1.120d8p-24 "
                "-0x1.2eb21ap-25 -0x1.4e54bp-26 -0x1.71456cp-27 -0x1.97dcdp-28 -0x1.c27c92p-29 -0x1.f190ap-30"
            ),
        ),
    ),
}
# 1/m, and -log of it as a sum of two, by the first bits of m
LOGARITHMS = {
    "f4": (
        _row(
            "0x1p+0 0x1.eap-1 0x1.dap-1 0x1.cep-1 0x1.cp-1 0x1.b4p-1 0x1.aap-1 0x1.9ep-1 0x1.94p-1 "
            "0x1.8ap-1 0x1.82p-1 0x1.78p-1 0x1.7p-1 0x1.68p-1 0x1.6p-1 0x1.58p-1 0x1.52p+0 0x1.4bp+0 "
            "0x1.44p+0 0x1.3ep+0 0x1.38p+0 0x1.32p+0 0x1.2dp+0 0x1.27p+0 0x1.22p+0 0x1.1dp+0 0x1.18p+0 "
            "0x1.13p+0 0x1.0fp+0 0x1.0ap+0 0x1.06p+0 0x1p+0"
        ),
        _row(
            "0x0p+0 0x1.67cp-5 0x1.3bep-4 0x1.a4ep-4 0x1.118p-3 0x1.491p-3 0x1.78ap-3 0x1.b32p-3 "
            "0x1.e53p-3 0x1.0c4p-2 0x1.2148p-2 0x1.3c28p-2 0x1.5228p-2 0x1.68bp-2 0x1.7fbp-2 0x1.9738p-2 "
            "-0x1.1c88p-2 -0x1.0718p-2 -0x1.e27p-3 -0x1.bc3p-3 -0x1.952p-3 -0x1.6d6p-3 -0x1.4bap-3 "
            "-0x1.226p-3 -0x1.fecp-4 -0x1.b78p-4 -0x1.6fp-4 -0x1.254p-4 -0x1.d28p-5 -0x1.3ap-5 "
            "-0x1.7b8p-6 0x0p+0"
        ),
        _row(
            "0x0p+0 0x1.29e5aap-18 -0x1.4b05c2p-21 0x1.d902c6p-18 -0x1.c5f76p-17 0x1.ec199ep-18 "
            "-0x1.c9eaeep-17 -0x1.3d4522p-18 0x1.dffce2p-20 0x1.6b3b0cp-17 -0x1.d4978ap-17 "
            "-0x1.6c4666p-17 0x1.7039c6p-17 -0x1.be0b1cp-17 -0x1.7109fap-20 0x1.1a189ap-17 "
            "-0x1.8c169ap-18 -0x1.c2fe6ap-17 -0x1.db8abcp-21 0x1.e62f4ap-17 -0x1.6a73d2p-17 "
            "-0x1.fce33ap-20 -0x1.b79cd2p-18 -0x1.bc642ap-17 -0x1.2263b8p-17 -0x1.905762p-17 "
            "-0x1.a515cap-17 0x1.3a1ebep-21 0x1.28ea4ap-18 0x1.784602p-17 -0x1.1b07d6p-18 0x0p+0"
        ),
    ),
    "f8": (
        _row(
            "0x1p+0 0x1.d4p-1 0x1.bap-1 0x1.a4p-1 0x1.9p-1 0x1.7ep-1 0x1.6cp-1 0x1.5cp-1 0x1.4ep+0 "
            "0x1.41p+0 0x1.35p+0 0x1.2ap+0 0x1.1fp+0 0x1.16p+0 0x1.0dp+0 0x1p+0"
        ),
        _row(
            "0x0p+0 0x1.700d30aeacp-4 0x1.2d1610c868p-3 0x1.95a5adcf7p-3 0x1.f991c6cb3cp-3 "
            "0x1.2bef07cdc9p-2 0x1.5d5bddf596p-2 0x1.8b639a88b3p-2 -0x1.1058bf9ae5p-2 -0x1.cf6354e09cp-3 "
            "-0x1.815c0a1436p-3 -0x1.371fc201e8p-3 -0x1.d4313d66ccp-4 -0x1.51b073f06p-4 -0x1.95c830ec9p-5"
            " 0x0p+0"
        ),
        _row(
            "0x0p+0 0x1.c1e8da99ded32p-49 0x1.39d6ccb81b4a1p-47 0x1.7f22858a0ff6fp-47 "
            "-0x1.90d04cd7cc834p-44 0x1.a9cfa4a5004f4p-45 -0x1.a0b2a08a465dcp-47 -0x1.05ae1e5e7047p-45 "
            "0x1.4ab9d817d52cdp-44 -0x1.771239a07d55bp-45 0x1.02a52f9201ce8p-44 -0x1.ee8779b2d8abcp-44 "
            "0x1.9454379135713p-45 -0x1.83f69278e686ap-44 0x1.c148297c5feb8p-45 0x0p+0"
        ),
    ),
}
# 2^(j/16)
EXP2 = _row(
    "0x1p+0 0x1.0b5586cf9890fp+0 0x1.172b83c7d517bp+0 0x1.2387a6e756238p+0 0x1.306fe0a31b715p+0 "
    "0x1.3dea64c123422p+0 0x1.4bfdad5362a27p+0 0x1.5ab07dd485429p+0 0x1.6a09e667f3bcdp+0 "
    "0x1.7a11473eb0187p+0 0x1.8ace5422aa0dbp+0 0x1.9c49182a3f09p+0 0x1.ae89f995ad3adp+0 "
    "0x1.c199bdd85529cp+0 0x1.d5818dcfba487p+0 0x1.ea4afa2a490dap+0"
)
